"""How long the parts of a run may take; none of it can change a score."""

import msgspec

from prime_cli.core.durations import parse_duration
from prime_cli.core.errors import UsageError
from prime_cli.models.gateway.settings import CALL_SECONDS

SCORING_SECONDS = 3600
ROLLOUT_SECONDS = 6 * 3600
BLOCKED_SECONDS = 600
"""Code that never awaits holds up every rollout, so it has less time than scoring that waits."""

_STEPS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


class Deadlines(msgspec.Struct, frozen=True):
    """In seconds, as they were asked for; None takes the default."""

    call: int | None = None
    scoring: int | None = None
    rollout: int | None = None

    @property
    def call_seconds(self) -> int:
        """For one try of a model call."""
        return self.call or CALL_SECONDS

    @property
    def scoring_seconds(self) -> int:
        """For scoring one rollout, or the group that is scored together."""
        return self.scoring or SCORING_SECONDS

    @property
    def blocked_seconds(self) -> int:
        """For code of the environment that lets nothing else run."""
        return self.scoring or BLOCKED_SECONDS

    @property
    def rollout_seconds(self) -> int:
        """For one rollout with its scoring."""
        return self.rollout or ROLLOUT_SECONDS

    def over(self, before: "Deadlines") -> "Deadlines":
        """These, and where nothing was asked for, those of `before`."""
        return Deadlines(
            self.call or before.call,
            self.scoring or before.scoring,
            self.rollout or before.rollout,
        )

    def __str__(self) -> str:
        call, scoring = span_text(self.call_seconds), span_text(self.scoring_seconds)
        return f"call {call}, scoring {scoring}, rollout {span_text(self.rollout_seconds)}"


DEFAULTS = Deadlines()


def parse_deadlines(call: str | None, scoring: str | None, rollout: str | None) -> Deadlines:
    """The deadlines of three flags: `90s`, `30m`, `2h`, or plain seconds as vf-eval has them.

    Raises UsageError that names the flag.
    """
    return Deadlines(
        _parse(call, "--call-timeout"),
        _parse(scoring, "--score-timeout"),
        _parse(rollout, "--rollout-timeout"),
    )


def span_text(seconds: int) -> str:
    """Seconds in the largest unit that holds them whole: `30m`, `90s`."""
    return next(f"{seconds // step}{unit}" for step, unit in _STEPS if seconds % step == 0)


def _parse(text: str | None, flag: str) -> int | None:
    if text is None:
        return None
    try:
        seconds = parse_duration(f"{text}s" if text.strip().isdigit() else text)
    except UsageError as error:
        raise UsageError(f"`{flag}`: {error.message}", hint=error.hint) from error
    if seconds < 1:
        raise UsageError(f"`{flag} {text}` leaves no time at all")
    return seconds
