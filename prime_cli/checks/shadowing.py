"""Variables that win over what is written down, or are set and mean nothing."""

from collections.abc import Iterator

from prime_cli.checks.findings import Finding, ok, warned
from prime_cli.checks.place import Place
from prime_cli.core.config import Config
from prime_cli.core.config.contexts import URL_VARIABLES, read_table
from prime_cli.core.credentials.store import KEY_VARIABLE, read_entries
from prime_cli.core.errors import UsageError

NAME = "shadowing"
_OURS = ("PRIME_CONTEXT", *URL_VARIABLES, KEY_VARIABLE)


def examine(place: Place) -> list[Finding]:
    """One warning for each variable that hides something, or is hidden itself."""
    found = [*_empty(place)]
    if place.config is not None:
        found += [*_key(place, place.config), *_context(place.config)]
    return found or [ok(NAME, "No variable hides what is written down")]


def _empty(place: Place) -> Iterator[Finding]:
    for name in _OURS:
        if place.environ.get(name) == "":
            yield warned(NAME, f"{name} is set to nothing, and so is not seen", f"`unset {name}`")


def _key(place: Place, config: Config) -> Iterator[Finding]:
    context = config.context
    if not place.environ.get(KEY_VARIABLE):
        return
    if not context.takes_key_variable:
        yield warned(
            NAME,
            f"{KEY_VARIABLE} is set, but is no key of `{context.name}` and is not sent there",
            f"`prime login --context {context.name}` keeps one for it"
            if context.base_url
            else f"`unset {KEY_VARIABLE}`, or name its hub with PRIME_API_BASE_URL",
        )
        return
    if context.name in _kept(config):
        yield warned(
            NAME,
            f"{KEY_VARIABLE} is used instead of the key that is kept for `{context.name}`",
            f"`unset {KEY_VARIABLE}` to use the one that is kept",
        )


def _context(config: Config) -> Iterator[Finding]:
    written = read_table(config.file).get("context")
    by_variable = config.context.source in _OURS
    if by_variable and isinstance(written, str) and written != config.context.name:
        source = config.context.source
        yield warned(
            NAME,
            f"{source} chooses `{config.context.name}`, where config.toml says `{written}`",
            f"`unset {source}` to use `{written}`",
        )


def _kept(config: Config) -> set[str]:
    try:
        return set(read_entries(config.home.value))
    except UsageError:
        return set()  # told by the check of the key
