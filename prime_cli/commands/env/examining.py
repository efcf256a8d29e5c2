"""`prime env check` within an upload."""

import os
from pathlib import Path

from prime_cli.commands.env.reports import say_report
from prime_cli.envs.project import Project
from prime_cli.envs.upload import WheelExaminer
from prime_cli.session import Session
from prime_cli.wire.check_reports import CheckReport


def examiner(session: Session, *, required: bool) -> WheelExaminer:
    """What checks a wheel before it is published; its talk goes to stderr.

    A wheel that cannot be loaded is refused as without a check. With `required` it raises
    GateFailed for one that fails a check.
    """
    from prime_cli.evals.env_check.check import CheckOptions, check_subject
    from prime_cli.evals.env_check.verdict import require_passed
    from prime_cli.evals.execution.context import Surroundings
    from prime_cli.evals.planning.locate import subject_of

    def examine(wheel: Path, project: Project) -> CheckReport:
        around = Surroundings(
            Path.cwd(), os.environ, session.progress, offline=session.config.offline
        )
        checked = check_subject(subject_of(wheel, project), CheckOptions(), around)
        say_report(session.output, checked.report)
        if checked.failure is not None:
            raise checked.failure
        if required:
            require_passed(checked.report)
        return checked.report

    return examine
