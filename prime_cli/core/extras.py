"""Packages that only some commands need, installed with an extra of prime-cli."""

from importlib.util import find_spec

from prime_cli.core.errors import UsageError


def require(extra: str, purpose: str, *modules: str) -> None:
    """Raise UsageError with the install command unless all `modules` can be imported.

    `purpose` begins the sentence, as in "Writing Parquet"; `extra` is that of pyproject.toml.
    Nothing is imported.
    """
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise UsageError(
            f"{purpose} needs {' and '.join(missing)}, which {verb} not installed",
            hint=f"install what is missing: `pip install 'prime-cli[{extra}]'`",
        )
