"""Whether a report counts as good: for the exit code, and for what is published."""

from prime_cli.core.errors import GateFailed
from prime_cli.wire.check_reports import CheckReport


def require_passed(report: CheckReport, *, strict: bool = False) -> None:
    """Raise GateFailed that names the checks which failed, or with `strict` warned."""
    bad = ("fail", "warn") if strict else ("fail",)
    names = [check.id for check in report.checks if check.status in bad]
    if names:
        plural = "checks" if len(names) > 1 else "check"
        raise GateFailed(
            f"{report.environment} does not pass {len(names)} {plural}: {', '.join(names)}",
            hint="what each of them looks at is in docs/environments.md",
        )
