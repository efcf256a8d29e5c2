"""Settings, and the variables that override them."""

from collections.abc import Iterator

from prime_cli.core.config import Config
from prime_cli.core.config.contexts import URL_VARIABLES, read_table
from prime_cli.core.credentials.store import KEY_VARIABLE, read_entries
from prime_cli.core.errors import UsageError
from prime_cli.doctor.base import Finding, System, failed, ok, warned


def check_settings(system: System) -> list[Finding]:
    """Whether the settings can be read, and which hub they name."""
    if system.config is None:
        trouble = system.trouble
        sentence = trouble.message if trouble else "The settings cannot be read"
        return [failed("settings", sentence, (trouble and trouble.hint) or "correct config.toml")]
    context = system.config.context
    where = context.base_url or "the hub in this process"
    return [ok("settings", f"The context is `{context.name}` ({context.source}): {where}")]


_OVERRIDES = "shadowing"

_OURS = ("PRIME_CONTEXT", *URL_VARIABLES, KEY_VARIABLE)


def check_overrides(system: System) -> list[Finding]:
    """One warning for each variable that hides something, or is hidden itself."""
    found = [*_empty(system)]
    if system.config is not None:
        found += [*_key(system, system.config), *_context(system.config)]
    return found or [ok(_OVERRIDES, "No variable hides what is written down")]


def _empty(system: System) -> Iterator[Finding]:
    for name in _OURS:
        if system.environ.get(name) == "":
            yield warned(
                _OVERRIDES, f"{name} is set to nothing, and so is not seen", f"`unset {name}`"
            )


def _key(system: System, config: Config) -> Iterator[Finding]:
    context = config.context
    if not system.environ.get(KEY_VARIABLE):
        return
    if not context.takes_key_variable:
        yield warned(
            _OVERRIDES,
            f"{KEY_VARIABLE} is set, but is no key of `{context.name}` and is not sent there",
            f"`prime login --context {context.name}` keeps one for it"
            if context.base_url
            else f"`unset {KEY_VARIABLE}`, or name its hub with PRIME_API_BASE_URL",
        )
        return
    if context.name in _kept(config):
        yield warned(
            _OVERRIDES,
            f"{KEY_VARIABLE} is used instead of the key that is kept for `{context.name}`",
            f"`unset {KEY_VARIABLE}` to use the one that is kept",
        )


def _context(config: Config) -> Iterator[Finding]:
    written = read_table(config.file).get("context")
    by_variable = config.context.source in _OURS
    if by_variable and isinstance(written, str) and written != config.context.name:
        source = config.context.source
        yield warned(
            _OVERRIDES,
            f"{source} chooses `{config.context.name}`, where config.toml says `{written}`",
            f"`unset {source}` to use `{written}`",
        )


def _kept(config: Config) -> set[str]:
    try:
        return set(read_entries(config.home.value))
    except UsageError:
        return set()  # told by the check of the key
