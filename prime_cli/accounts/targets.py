"""Which hub a login is for, and the name that its context has or gets."""

from dataclasses import dataclass, replace

from prime_cli.accounts.addresses import name_of, read_hub_url, require_https
from prime_cli.core.config import LOCAL, PRIME, Config, Context
from prime_cli.core.config.contexts import URL_VARIABLES, find_context, read_contexts
from prime_cli.core.config.editing import check_context_name
from prime_cli.core.errors import Conflict, UsageError

_NAMED_NOW = ("--context", "PRIME_CONTEXT")


@dataclass(frozen=True)
class Target:
    """A hub to log in to; `known` where config.toml, or prime itself, has the context."""

    name: str
    base_url: str
    web_url: str
    known: bool
    team: str | None = None


def choose_target(config: Config, *, hub: str | None, name: str | None, allow_http: bool) -> Target:
    """The hub at `hub`, else the context `name`, else the current one if served, else `prime`.

    Raises UsageError, NotFound for a name that is not known, and Conflict for one that is
    another hub's.
    """
    if hub is None and name is not None:
        return _of_context(find_context(name, config.file, "--name"), allow_http=allow_http)
    web_url = None
    if hub is None:
        current = config.context
        if current.base_url is None and current.source not in _NAMED_NOW:
            return _of_context(find_context(PRIME, config.file), allow_http=allow_http)
        if current.name not in URL_VARIABLES:
            # Not its team: a variable may have chosen that, and is not to be written down.
            kept = find_context(current.name, config.file)
            return _of_context(replace(kept, web_url=current.web_url), allow_http=allow_http)
        hub, web_url = current.base_url or "", current.web_url
    return place_context(config, hub, name=name, web_url=web_url, allow_http=allow_http)


def place_context(
    config: Config, hub: str, *, name: str | None, web_url: str | None, allow_http: bool
) -> Target:
    """The context for the hub at `hub`: one that has this address already, else a new one.

    Raises UsageError, and Conflict for a `name` that is another hub's.
    """
    url = read_hub_url(hub, allow_http=allow_http)
    pages = read_hub_url(web_url, allow_http=True) if web_url else url
    contexts = {each.name: each for each in read_contexts(config.file)}
    if name is None:
        same = [each for each in contexts.values() if each.base_url == url]
        current = [each for each in same if each.name == config.context.name]
        if same:
            return _of_context((current or same)[0], allow_http=allow_http)
        name = name_of(url)
    check_context_name(name)
    if name not in contexts:
        return Target(name, url, pages, known=False)
    if contexts[name].base_url != url:
        raise Conflict(
            f"The context `{name}` is the hub {contexts[name].base_url}",
            hint=f"choose another name, or first `prime context delete {name}`",
        )
    return _of_context(contexts[name], allow_http=allow_http)


def _of_context(context: Context, *, allow_http: bool) -> Target:
    if context.base_url is None:
        raise UsageError(
            f"`{LOCAL}` is the hub in this process, which asks for no login",
            hint="name another with `--hub`",
        )
    require_https(context.base_url, allow_http=allow_http)
    web_url = context.web_url or context.base_url
    return Target(context.name, context.base_url, web_url, known=True, team=context.team)
