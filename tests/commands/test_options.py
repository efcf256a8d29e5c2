"""The common options: their place in a command, and what they make of its session."""

from collections.abc import Iterator
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from prime_cli.commands import options
from prime_cli.commands.base import PLAIN, Command, LazyCommand, load
from prime_cli.commands.options import YES, expand_options, hub_options, local_options, open_session
from prime_cli.session import Session

VARIANTS = (
    options.OUTPUT, options.LONG_OUTPUT, options.QUIET, options.CONTEXT, options.OFFLINE,
    options.YES, options.YES_OR_FORCE,
)  # fmt: skip


@hub_options(YES, "wait")
def stop(
    ctx: typer.Context,
    pod: Annotated[str, typer.Argument()],
    wait: Annotated[bool, typer.Option("--wait")] = False,
    node: Annotated[int, typer.Option("--node")] = 1,
) -> None:
    ctx.obj.given = (pod, wait, node)
    open_session(ctx)


@local_options()
def tidy(ctx: typer.Context) -> None:
    open_session(ctx)


def _call(function: Any, line: str = "") -> tuple[Session, int]:
    app = typer.Typer(**PLAIN)
    app.command("it", cls=Command)(expand_options(function))
    session = Session()
    return session, CliRunner().invoke(app, line.split(), obj=session).exit_code


def _options_of(function: Any) -> list[str]:
    return [each.name for each in _command(function).params if each.param_type_name == "option"]


def _command(function: Any) -> Any:
    app = typer.Typer(**PLAIN)
    app.command("it", cls=Command)(expand_options(function))
    return typer.main.get_command(app)


def test_the_common_options_come_last_with_what_was_named_among_them() -> None:
    assert _options_of(tidy) == ["output", "quiet"]
    assert _options_of(stop) == [
        "node", "yes", "wait", "output", "quiet", "context", "offline",
    ]  # fmt: skip


def test_they_set_the_session_and_are_not_arguments_of_the_command() -> None:
    line = "pod-1 --wait --node 2 --yes -o json -q --context team --offline"
    session, code = _call(stop, line)
    assert code == 0
    assert session.given == ("pod-1", True, 2)  # type: ignore[attr-defined]
    assert (session.mode, session.quiet, session.yes) == ("json", True, True)
    assert (session.context_name, session.offline_flag) == ("team", True)


@pytest.mark.parametrize(("function", "line"), [(stop, "pod-1"), (tidy, "")])
def test_omitted_fields_are_unchanged(function: Any, line: str) -> None:
    session, code = _call(function, line)
    assert code == 0
    assert (session.mode, session.quiet, session.yes) == (None, False, False)
    assert (session.context_name, session.offline_flag) == (None, None)


def test_what_a_command_does_not_take_is_refused() -> None:
    assert _call(tidy, "--context team")[1] == 2
    assert _call(tidy, "-o yaml")[1] == 2


def test_no_command_uses_the_name_of_a_common_option_for_another_thing() -> None:
    """`open_session` reads them by name."""
    spellings = {(field.name, field.names) for field in VARIANTS}
    found = {(each.name, tuple(each.opts)) for command in _commands() for each in command.params}
    common = {(name, names) for name, names in found if name in {each.name for each in VARIANTS}}
    assert common == spellings


def _commands(target: str = "prime_cli.commands:app") -> Iterator[Any]:
    command = load(target)
    yield command
    for member in getattr(command, "commands", {}).values():
        if isinstance(member, LazyCommand):
            yield from _commands(member.target)
