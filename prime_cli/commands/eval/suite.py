"""`prime eval run SUITE.toml`: many evaluations as one."""

from collections.abc import Mapping
from pathlib import Path

from prime_cli.commands.eval.leaderboard import show_leaderboard
from prime_cli.commands.eval.push import push_at_end
from prime_cli.commands.eval.run_options import ResultOptions, ResumeOptions
from prime_cli.commands.eval.summary import exit_if_signalled, relative_path
from prime_cli.core.errors import NotFound, PartialResult
from prime_cli.evals.planning.locate import LookupContext
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.suites.definition import Suite, load_suite
from prime_cli.evals.suites.record import (
    CAPPED,
    FINISHED,
    SuiteFolder,
    SuiteRecord,
    new_suite_folder,
    resumable,
    unfinished,
)
from prime_cli.evals.suites.suite_run import (
    SuiteResult,
    SuiteRun,
    begin_record,
    budget_for,
    resume_command,
)
from prime_cli.runs.saved_run import check_error_rate, open_run
from prime_cli.session import Session


def run_suite(
    session: Session,
    request: EvalRequest,
    lookup: LookupContext,
    options: ResumeOptions,
    pushed: ResultOptions,
    *,
    given: Mapping[str, str],
) -> None:
    """Run the suite that `request` names; its other fields win over the file's.

    `given` are variables for its environments alone.
    """
    path = Path(request.environment)
    if not path.is_file():
        raise NotFound(f"There is no {path}", hint="pass a suite's TOML file")
    options.check(request)
    suite = load_suite(path).overridden(request)
    folder, before = _folder(session, suite, lookup.cwd, options.resume)
    record = begin_record(suite, folder, before)
    budget = budget_for(suite.limits, record, lookup.cwd)
    session.output.say(f"Suite {record.suite_id}: {len(suite.cells)} evaluations of {path.name}")
    context = session.run_context(budget, given=given)
    result = SuiteRun(suite, folder, record, lookup, context).execute()
    show_leaderboard(session.output, result.leaderboard)
    session.output.say(f"Saved in {relative_path(str(folder.path))}")
    if pushed.push:
        for cell in result.record.cells:
            if cell.status == FINISHED and cell.path is not None:
                push_at_end(session, lookup.cwd / cell.path)
    if pushed.notify:
        _notify(session, pushed.notify, result)
    _end(session, result, suite, lookup.cwd)


def _notify(session: Session, command: str, result: SuiteResult) -> None:
    from prime_cli.evals.sharing.notice import RunNotice, notify

    record, path = result.record, str(result.folder.path)
    notice = RunNotice(record.suite_id, record.status, path, result.leaderboard, "eval leaderboard")
    notify(command, notice, session.progress)


def _folder(
    session: Session, suite: Suite, cwd: Path, resume: str | None
) -> tuple[SuiteFolder, SuiteRecord | None]:
    if resume is not None:
        found = resumable(suite, resume or None, cwd)
        if found is not None:
            return found
        session.output.say("No run of this suite to resume: starting a new one")
        return new_suite_folder(suite, cwd), None
    waiting = unfinished(suite, cwd)
    if waiting is not None:
        name = waiting[1].suite_id
        session.output.hint(f"{name} of this suite is unfinished: `--resume {name}` resumes it")
    return new_suite_folder(suite, cwd), None


def _end(session: Session, result: SuiteResult, suite: Suite, cwd: Path) -> None:
    """Exit as the suite ended; a cap, a failure and too many errors are partial results."""
    command = resume_command(result.record)
    exit_if_signalled(session, result.signal, command)
    again = f"continue with `{command}`"
    if result.record.status == CAPPED:
        raise PartialResult("The budget of the suite is used up", hint=f"{again} and a higher cap")
    failed = [cell.key for cell in result.record.cells if cell.status != FINISHED]
    if failed:
        raise PartialResult(
            f"{len(failed)} of {len(suite.cells)} evaluations did not finish: {failed[0]}"
            + (" and others" if len(failed) > 1 else ""),
            hint=again,
        )
    _check_errors(result, suite, cwd, command)


def _check_errors(result: SuiteResult, suite: Suite, cwd: Path, command: str) -> None:
    limits = {cell.key: cell.request.max_error_rate for cell in suite.cells}
    again = f"`{command}` asks again where there was no answer; add `--retry-errors` for all errors"
    for line in result.leaderboard.standings:
        if line.errored and line.path is not None:
            summary = open_run(cwd / line.path).summary()
            check_error_rate(summary, limits[line.key], again=again, key=line.key)
