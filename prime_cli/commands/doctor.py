"""`prime doctor`."""

import msgspec
import typer

from prime_cli.commands.contract import NETWORK
from prime_cli.commands.options import hub_options, open_session
from prime_cli.core.errors import ExitCode, GateFailed
from prime_cli.core.formatting import pluralize
from prime_cli.doctor.base import Finding, Status, this_system, worst
from prime_cli.doctor.run import examine
from prime_cli.session import Session
from prime_cli.terminal.static_help import completion_script

_TOLD = ("warning", "failed")


class Diagnosis(msgspec.Struct, frozen=True):
    """All findings; `status` is the worst of them."""

    status: Status
    findings: list[Finding]


@hub_options(answer=Diagnosis, record=Finding, effects=NETWORK, exits=ExitCode.GATE)
def doctor(
    ctx: typer.Context,
) -> None:
    """Diagnose problems with this machine and its settings.

    Prints one line for each check, followed by the fixes. Never shows a key. Exits 1 if a check
    fails; warnings do not count.

    \b
    Example:
      prime doctor
      prime doctor --offline --output json

    See also: `prime config show`, `prime whoami`, `prime env check`.
    """
    session = open_session(ctx)
    system = this_system(
        lambda: session.config,
        offline=bool(session.offline_flag),
        transport=session.transport,
        box=lambda: session.hub,
        script=completion_script,
    )
    findings = examine(system, session.progress)
    _show(session, findings)
    count = sum(finding.status == "failed" for finding in findings)
    if count:
        raise GateFailed(f"{pluralize(count, 'check')} failed")


def _show(session: Session, findings: list[Finding]) -> None:
    rows = [[each.name, each.status, each.sentence, each.fix or ""] for each in findings]
    if session.output.mode == "table":
        rows = [row[:3] for row in rows]
    session.output.table(
        ["Check", "Status", "Found", "Fix"][: len(rows[0])],
        rows,
        records=findings,
        page=Diagnosis(worst(findings), findings),
    )
    if session.output.mode == "table":
        for each in findings:
            if each.status in _TOLD and each.fix:
                session.output.hint(f"{each.name}: {each.fix}")
