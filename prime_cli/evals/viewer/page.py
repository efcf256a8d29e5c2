"""One rollout as blocks of text: its result, the reason, and every turn."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prime_cli.core.formatting import format_number
from prime_cli.models.prices import format_cost
from prime_cli.runs.rows import Failure, Row
from prime_cli.runs.spending import spend_of
from prime_cli.runs.transcript import as_text, message_blocks, metric_text

FACT, TURN, CALL, ERROR = "fact", "turn", "call", "error"
_CALLS = " calls"
_MONEY = ("cost", "known_cost", "unpriced")


@dataclass(frozen=True)
class PageBlock:
    """A label and its text, which may have many lines.

    `kind` is `fact` (a line about the rollout), `turn` (a message), `call` (of a tool) or `error`.
    """

    kind: str
    label: str
    text: str


@dataclass(frozen=True)
class RolloutView:
    """One rollout: its title, its blocks, and the number of its line."""

    title: str
    blocks: list[PageBlock]
    number: int


def page_of(row: Row, number: int) -> RolloutView:
    """The page of `row`, which is line `number`: facts first, then the conversation."""
    facts = [PageBlock(FACT, label, text) for label, text in _facts(row)]
    error = list(_error(row.error)) if row.error else []
    turns = [*_turns("prompt", row.prompt), *_turns("completion", row.completion)]
    rest = [
        PageBlock(FACT, label, as_text(value))
        for label, value in (("answer", row.answer), ("info", row.info), *row.state.items())
        if value not in (None, "", {}, [])
    ]
    title = f"example {row.example_id}, rollout {row.rollout}"
    again = f", attempt {row.attempt}" if row.attempt > 1 else ""
    return RolloutView(title + again, [*facts, *error, *turns, *rest], number)


def _facts(row: Row) -> Iterator[tuple[str, str]]:
    yield "reward", format_number(row.reward, "none")
    for name, value in row.metrics.items():
        yield f"  {name}", metric_text(value)
    ended = [row.stop_condition or "", "cut short by a token limit" if row.is_truncated else ""]
    if any(ended):
        yield "ended by", ", ".join(part for part in ended if part)
    if row.timing:
        yield "seconds", _pairs(row.timing)
    if row.usage:
        yield "tokens", _pairs({name: row.usage[name] for name in row.usage if name not in _MONEY})
    if row.usage and "cost" in row.usage:
        yield "cost", format_cost(spend_of(row.usage))
    if row.task not in (None, "", {}):
        yield "task", as_text(row.task)


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {metric_text(value)}" for name, value in values.items())


def _error(failure: Failure) -> Iterator[PageBlock]:
    again = " (may be tried again)" if failure.retryable else ""
    told = f"{failure.type}: {failure.message}"
    yield PageBlock(ERROR, f"{failure.kind} error{again}", told)
    if failure.traceback:
        yield PageBlock(ERROR, "traceback", failure.traceback)


def _turns(part: str, messages: Any) -> Iterator[PageBlock]:
    for label, text in message_blocks(messages):
        kind = CALL if label.endswith(_CALLS) else TURN
        yield PageBlock(kind, part if label == "text" else label, text)
