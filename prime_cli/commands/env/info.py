"""`prime env info` and `prime env status`."""

from typing import Annotated

import typer

from prime_cli.commands.options import (
    EnvironmentArg,
    VersionOpt,
    at_version,
    hub_options,
    open_session,
)
from prime_cli.core.archive.arguments import LoadArgument
from prime_cli.core.completion_cache import remember
from prime_cli.core.formatting import format_interval, format_number
from prime_cli.envs.info import EnvironmentInfo, describe_environment
from prime_cli.envs.names import resolve_name
from prime_cli.envs.signatures.versions import format_verdict
from prime_cli.wire.check_reports import in_words
from prime_cli.wire.environments import EnvironmentStatus


@hub_options(answer=EnvironmentInfo)
def info(
    ctx: typer.Context,
    environment: Annotated[
        str, typer.Argument(metavar="OWNER/NAME[@VERSION]", help="The environment.")
    ],
    version: VersionOpt = None,
) -> None:
    """Show an environment and how to use it.

    Reads its arguments, and the variables and hosts that it names, from its source without
    running it.

    \b
    Example:
      prime env info starter/alphabet-sort
    \b
    See also: `prime env install`, `prime env versions`, `prime eval run`.
    """
    session = open_session(ctx)
    ref = at_version(resolve_name(session.hub, environment, progress=session.progress), version)
    found = describe_environment(
        session.hub, ref, home=session.config.home.value, progress=session.progress
    )
    remember("environments", [ref.slug])
    session.output.show(found, lines=_lines(found))


def _lines(found: EnvironmentInfo) -> list[tuple[str, str]]:
    install = found.install
    lines = [
        ("environment", found.environment),
        ("version", found.version),
        ("description", found.description),
        ("tags", ", ".join(found.tags)),
        ("visibility", found.visibility.lower()),
        ("published", found.published_at or ""),
        ("content hash", found.content_hash or ""),
        ("wheel", f"{found.wheel}\nsha256 {found.wheel_sha256}"),
        ("python", found.requires_python or ""),
        ("depends on", "\n".join(found.dependencies)),
        ("generation", found.generation or "unknown"),
        ("check", _check(found)),
        ("evaluations", _evaluations(found)),
        ("signed", "\n".join(map(format_verdict, found.signatures))),
        ("about", found.readme),
        ("install", install.prime),
        ("  with uv", f"{install.uv_pip}\n{install.uv_add}"),
        ("  with pip", install.pip),
        ("  dependency", install.dependency),
        ("run", found.run),
        ("arguments", _arguments(found)),
        ("variables", ", ".join(found.variables)),
        ("hosts", ", ".join(found.hosts)),
    ]
    return [(label, text) for label, text in lines if text]


def _check(found: EnvironmentInfo) -> str:
    if found.check is None:
        return ""
    return f"{in_words(found.check)} (by its publisher, {found.check.date[:10]})"


def _evaluations(found: EnvironmentInfo) -> str:
    if not found.evaluations:
        return ""
    count = f"{found.evaluations:,}"
    if (best := found.best) is None:
        return count
    reach = format_interval(best.interval) or "no interval"
    mean = f"{format_number(best.mean_reward)} ({reach}, n = {best.samples:,})"
    return f"{count}\nbest by the lower end: {mean} by {best.model_name} on {best.version}"


def _arguments(found: EnvironmentInfo) -> str:
    if found.arguments is None:
        return "unknown from its source"
    return "\n".join(_argument(each) for each in found.arguments) or "none"


def _argument(each: LoadArgument) -> str:
    typed = f"{each.name}: {each.annotation}" if each.annotation else each.name
    return f"{typed} (required)" if each.required else f"{typed} = {each.default}"


@hub_options(answer=EnvironmentStatus)
def status(
    ctx: typer.Context,
    environment: EnvironmentArg,
) -> None:
    """Show an environment's visibility and latest version.

    \b
    Example:
      prime env status starter/alphabet-sort
    \b
    See also: `prime env info`, `prime env versions`.
    """
    session = open_session(ctx)
    ref = resolve_name(session.hub, environment, progress=session.progress).at(None)
    found = session.hub.of(ref.owner).environments.status(ref)
    newest = found.latest_version
    lines = [
        ("environment", ref.slug),
        ("description", found.description),
        ("visibility", found.visibility.lower()),
        ("newest version", newest.semantic_version if newest else "none"),
    ]
    if newest:
        lines += [("content hash", newest.content_hash), ("published", newest.created_at)]
    session.output.show(found, lines=[(label, text) for label, text in lines if text])
