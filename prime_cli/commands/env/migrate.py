"""`prime env migrate`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.contract import BUILDS
from prime_cli.commands.options import YES, ForceOpt, hub_options, open_session
from prime_cli.core.errors import Conflict, ExitCode, GateFailed
from prime_cli.core.formatting import format_number
from prime_cli.core.options import Only
from prime_cli.envs.migration.source import Remark
from prime_cli.envs.project.folder import find_project, load_project
from prime_cli.evals.env_check.check import EXAMPLES, CheckOptions
from prime_cli.evals.env_check.migrate import ComparedAnswer, MigrationOutcome, migrate_project
from prime_cli.evals.planning.parsers import given_variables
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.terminal.output import Output


class Migration(msgspec.Struct, frozen=True):
    """What was written and compared; `releases` are the versions of verifiers of both forms."""

    equal: bool
    path: str
    left_out: tuple[Remark, ...]
    compared: tuple[ComparedAnswer, ...]
    releases: tuple[str, str]


@hub_options(YES, answer=Migration, record=ComparedAnswer, effects=BUILDS, exits=ExitCode.GATE)
def migrate(
    ctx: typer.Context,
    project: Annotated[
        str | None,
        typer.Argument(metavar="[PROJECT]", help="Its folder or name.", show_default="this folder"),
    ] = None,
    path: Annotated[
        Path | None,
        typer.Option("--path", "-p", "-o", help="The folder to write.", show_default="PROJECT-v1"),
    ] = None,
    num_examples: Annotated[
        int, typer.Option("--num-examples", "-n", help="Number of examples to compare.")
    ] = EXAMPLES,
    force: ForceOpt = False,
    *,
    request: Annotated[EvalRequest, Only("env_vars", "verifiers", "python")],
) -> None:
    """Write the v1 form of a v0 project, and compare.

    Reads its source and loads it. What v1 has no form for is named by file and line, and nothing is
    written. Otherwise both forms score the same answers: gold ones in several forms, wrong and
    empty ones. Exits 1 if a reward, a metric or a prompt differs.

    \b
    Example:
      prime env migrate my-env
      prime env migrate ./my_env --path my_env_v1 --output json
    \b
    See also: `prime env init`, `prime env check`, `prime env diff`.
    """
    session = open_session(ctx)
    root = find_project(project, Path.cwd())
    given = given_variables(request.env_vars)
    options = CheckOptions(num_examples, env_vars=given.names, verifiers=request.verifiers)
    options = replace(options, python=request.python)
    target = path or root.resolve().with_name(f"{root.resolve().name}-v1")
    if target.exists() and not force:
        hint = "choose another `--path`, or overwrite with `--force`"
        raise Conflict(f"{target} exists already", hint=hint)
    context = session.run_context(given=given.values)
    found = load_project(root)
    outcome = migrate_project(found, target, options, session.lookup_context(), context)
    show_migration(session.output, outcome)


def show_migration(output: Output, outcome: MigrationOutcome) -> None:
    """The table of both forms' rewards, and what is left out; raises GateFailed if any differ."""
    old, new = outcome.releases
    numbers = [[format_number(v, "none") for v in (each.v0, each.v1)] for each in outcome.compared]
    rows = [
        [str(each.example), each.answer, *pair, _verdict(each)]
        for each, pair in zip(outcome.compared, numbers, strict=True)
    ]
    differing = [each for each in outcome.compared if each.differing]
    page = Migration(
        not differing, outcome.path, outcome.left_out, outcome.compared, outcome.releases
    )
    columns = ["Example", "Answer", f"v0 ({old})", f"v1 ({new})", "Rewards"]
    output.table(columns, rows, records=outcome.compared, page=page)
    for remark in outcome.left_out:
        output.warn(f"Left out: {remark}")
    where, count = outcome.path, len(outcome.compared)
    if unscored := sum(not each.is_scored for each in outcome.compared):
        output.say(f"{unscored} of {count} answers get no reward in v0, which ends such rollouts")
    if differing:
        sentence = (
            f"{where} is not equal to its v0 form: {len(differing)} of {count} answers differ"
        )
        errors = "\n".join(sorted({each.error for each in differing if each.error}))
        raise GateFailed(sentence, hint="correct it by the table", detail=errors or None)
    if not outcome.tells_apart:
        hint = "define an `oracle` in the old module that answers right, and migrate again"
        output.warn("Every answer got the same reward, so that little is proved", hint=hint)
    output.say(f"Wrote {where}: {count - unscored} answers get equal rewards in both forms")
    output.hint(f"raise its version, then publish it with `prime env upload {where}`")


def _verdict(answer: ComparedAnswer) -> str:
    if answer.differing:
        return f"differ: {', '.join(answer.differing)}"
    return "equal" if answer.is_scored else "not scored by v0"
