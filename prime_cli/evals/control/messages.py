"""What is asked of a running evaluation, and its answer: one line of JSON each."""

from typing import Literal

import msgspec

from prime_cli.core.errors import InternalError, PrimeError, UsageError, error_classes

Action = Literal["status", "pause", "resume", "set", "drain", "cancel", "retry"]


class ControlRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """An action by the user `by`; `set` has new limits, `cancel` and `retry` name rollouts.

    `max_cost` is in USD. Without a `rollout` all of the `example` are meant.
    """

    action: Action
    by: str = ""
    concurrency: int | None = None
    max_cost: float | None = None
    example: int | None = None
    rollout: int | None = None

    def require_limits(self) -> None:
        """Raise UsageError for a `set` that names no limit, or one of no rollout at a time."""
        if self.concurrency is None and self.max_cost is None:
            raise UsageError("Nothing to set", hint="name `-c` or `--max-cost`")
        if self.concurrency is not None and self.concurrency < 1:
            raise UsageError("`-c` is at least 1", hint="hold the run with `prime eval ctl pause`")


def named_rollout(words: str) -> tuple[int, int | None]:
    """`3:0` as an example and a rollout, `3` as all of an example; raises UsageError."""
    example, colon, rollout = words.partition(":")
    if not example.isdecimal() or (colon and not rollout.isdecimal()):
        raise UsageError(f"`{words}` is not EXAMPLE[:ROLLOUT]", hint="as in `3` or `3:0`")
    return int(example), int(rollout) if colon else None


class RunState(msgspec.Struct, frozen=True, tag_field="t", tag="state"):
    """A run at one moment, after what was asked of it.

    `state` is `running`, `paused` or `draining`. Of `total` rollouts (null while the environment
    loads) `done` have a score, `errors` ended in one, and `running` have called a model and not
    ended. `max_cost` and `spent` are in USD, `eta` in seconds; null where unknown. `note` is the
    text beside the bar. A training has done `step` of its `steps`, and no `total`.
    """

    run_id: str
    path: str
    state: str
    done: int
    total: int | None
    running: int
    errors: int
    cancelled: int
    concurrency: int
    max_cost: float | None
    spent: float | None
    eta: float | None
    note: str = ""
    step: int | None = None
    steps: int | None = None

    @property
    def ended(self) -> int:
        """Rollouts that need nothing more."""
        return self.done + self.errors + self.cancelled

    @property
    def place(self) -> tuple[object, ...]:
        """What differs once something has happened: neither words nor estimates."""
        counts = self.done, self.total, self.running, self.errors, self.cancelled
        return self.state, *counts, self.concurrency, self.max_cost


class Refusal(msgspec.Struct, frozen=True, tag_field="t", tag="refusal"):
    """A PrimeError on its way to who asked."""

    code: str
    message: str
    hint: str | None = None

    @classmethod
    def of(cls, error: PrimeError) -> "Refusal":
        """The same as `error`."""
        return cls(error.code, error.message, error.hint)

    def error(self) -> PrimeError:
        """The error again, of its class."""
        kind = error_classes().get(self.code, InternalError)
        return kind(self.message, hint=self.hint)


Answer = RunState | Refusal

_requests = msgspec.json.Decoder(ControlRequest)
_answers: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


def encode_line(message: ControlRequest | Answer) -> bytes:
    """A message as a line."""
    return msgspec.json.encode(message) + b"\n"


def decode_request(line: bytes) -> ControlRequest:
    """A line as a request; raises msgspec.DecodeError."""
    return _requests.decode(line)


def decode_answer(line: bytes) -> Answer:
    """A line as an answer; raises msgspec.DecodeError."""
    return _answers.decode(line)
