"""A sample of an evaluation, as clients push it, as the record of a rollout's page."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prime_cli.core.formatting import format_usd
from prime_cli.pages.rollout import Sample
from prime_cli.pages.runs import LONGEST_LABEL, NOTHING, ErrorLine, Fact
from prime_cli.pages.texts import shorten
from prime_cli.pages.tokens import finite
from prime_cli.runs.export.page import seconds_of
from prime_cli.runs.export.text import spent_of
from prime_cli.runs.rows import numeric
from prime_cli.runs.transcript import as_text


def sample_of(body: Mapping[str, Any]) -> Sample:
    """A sample with the keys of vf-eval's results, and prime's beside them."""
    metrics = body.get("metrics")
    error, traceback = _error_of(body.get("error"))
    known = {"id", "sample_id", *_TOP}
    rest = {name: value for name, value in body.items() if name not in known}
    if not isinstance(metrics, dict):
        # vf-eval writes each metric at the top.
        metrics = numeric(rest)
    rest = {name: value for name, value in rest.items() if name not in metrics}
    return Sample(
        prompt=body.get("prompt"),
        completion=body.get("completion"),
        reward=finite(body.get("reward")),
        metrics=metrics,
        answer=body.get("answer"),
        info=body.get("info"),
        task=body.get("task"),
        state=rest,
        error=error,
        traceback=traceback,
        facts=list(_facts(body)),
    )


_FACTS = ("stop_condition", "is_truncated", "timing", "token_usage", "usage", "cost")
_TOP = (
    *_FACTS,
    *"example_id rollout attempt prompt completion reward metrics answer info task error".split(),
    *"is_completed tool_defs".split(),
)
_OPENAI = {"prompt_tokens": "input", "completion_tokens": "output"}
"""Our names of what the OpenAI API counts."""


def _facts(body: Mapping[str, Any]) -> Iterator[Fact]:
    if body.get("stop_condition"):
        yield Fact("Ended by", shorten(as_text(body["stop_condition"]), _LONGEST_ENDING))
    if body.get("is_truncated"):
        yield Fact("Cut short", "by a token limit")
    timing = body.get("timing")
    if isinstance(timing, dict):
        yield from time_facts(timing)
    for usage in (body.get("token_usage"), body.get("usage")):
        if isinstance(usage, dict):
            yield from usage_facts(usage)
    cost = finite(body.get("cost"))
    if cost is not None:
        yield Fact("Cost", format_usd(cost))


def time_facts(timing: Mapping[str, Any]) -> Iterator[Fact]:
    """How long a rollout took, in seconds or verifiers' milliseconds, if that is known."""
    seconds = finite(seconds_of(dict(timing)))
    milliseconds = finite(timing.get("total_ms"))
    if seconds is None and milliseconds is not None:
        seconds = milliseconds / 1000
    if seconds is not None:
        yield Fact("Time", f"{seconds:.3g} s")


def usage_facts(usage: Mapping[str, Any]) -> Iterator[Fact]:
    """What one rollout spent; its cost is a number of its own."""
    known = {_OPENAI.get(name, name): finite(value) for name, value in usage.items()}
    known.pop("cost", None)
    for label, text in spent_of(known).items():
        yield Fact(label.removeprefix("Mean ").capitalize(), text)


def count_errors(errors: Iterable[Any]) -> list[ErrorLine]:
    """The errors of samples by class and type, the most frequent first, each with a message."""
    counts: Counter[tuple[str, str]] = Counter()
    messages: dict[tuple[str, str], str] = {}
    for error in errors:
        known = error if isinstance(error, dict) else {}
        # vf-eval keeps the type where others have the message.
        kind, type_ = known.get("class"), known.get("type") or known.get("error") or "error"
        place = str(kind or ""), str(type_)
        counts[place] += 1
        found, _ = _error_of(error)
        messages.setdefault(place, found.text if found else "")
    return [ErrorLine.of(*place, count, messages[place]) for place, count in counts.most_common(50)]


_LONGEST_ENDING = 500


def _error_of(value: Any) -> tuple[Fact | None, str]:
    if value in NOTHING:
        return None, ""
    if not isinstance(value, dict):
        return Fact("error", as_text(value)), ""
    kind = value.get("class")
    message = value.get("error_chain_str") or value.get("message") or value.get("error")
    label = f"{shorten(str(kind), LONGEST_LABEL)} error" if kind else "error"
    return Fact(label, as_text(message)), str(value.get("traceback") or "")
