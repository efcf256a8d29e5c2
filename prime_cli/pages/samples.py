"""Samples of an evaluation, as clients push them: their filter, and each as a rollout's page."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prime_cli.core.errors import TooLarge, UsageError
from prime_cli.core.formatting import format_usd
from prime_cli.pages.links import evaluation_path, sample_path
from prime_cli.pages.paging import FIRST, Cursor
from prime_cli.pages.rollout import (
    RolloutContent,
    RolloutSample,
    part_of,
    render_rollout,
    tokens_page,
    view_rollout,
)
from prime_cli.pages.runs import LONGEST_LABEL, NOTHING, ErrorLine, Fact, Link, RunFilter
from prime_cli.pages.templates import Page
from prime_cli.pages.texts import shorten
from prime_cli.pages.tokens import finite
from prime_cli.runs.export.page import seconds_of
from prime_cli.runs.export.text import spent_of
from prime_cli.runs.outcomes import parse_outcome
from prime_cli.runs.rows import numeric
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.runs.transcript import as_text
from prime_cli.wire.codec import decode
from prime_cli.wire.evaluations import EvaluationDetail, SampleQuery


def sample_of(body: Mapping[str, Any]) -> RolloutSample:
    """A sample with the keys of vf-eval's results, and prime's beside them."""
    metrics = body.get("metrics")
    error, traceback = _error_of(body.get("error"))
    known = {"id", "sample_id", *_TOP}
    rest = {name: value for name, value in body.items() if name not in known}
    if not isinstance(metrics, dict):
        # vf-eval writes each metric at the top.
        metrics = numeric(rest)
    rest = {name: value for name, value in rest.items() if name not in metrics}
    return RolloutSample(
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


_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BOUND = re.compile(rf"(<=|>=|<|>|=|)\s*({_NUMBER})")
_SPAN = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})")


def sample_query(filters: RunFilter) -> SampleQuery:
    """What a hub is asked for the form's filter; raises UsageError.

    A hub's bounds are exclusive: those that include their end are the next number.
    """
    parse_outcome(filters.only)
    text = filters.reward.strip().lower()
    low, high = -math.inf, math.inf
    if span := _SPAN.fullmatch(text):
        low, high = sorted(map(float, span.groups()))
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    elif bound := _BOUND.fullmatch(text):
        low, high = _range(bound[1], float(bound[2]))
    elif text not in ("", "none"):
        raise UsageError(f"`{filters.reward}` is not a range", hint="write >0.5, 0.2..0.8 or none")
    return SampleQuery(
        errors_only=text == "none",
        reward_above=low if math.isfinite(low) else None,
        reward_below=high if math.isfinite(high) else None,
        search=filters.text or None,
    )


def _range(sign: str, limit: float) -> tuple[float, float]:
    """The bounds, exclusive, of the numbers in this relation to `limit`."""
    below, above = math.nextafter(limit, -math.inf), math.nextafter(limit, math.inf)
    ranges = {
        "<": (-math.inf, limit),
        "<=": (-math.inf, above),
        ">": (limit, math.inf),
        ">=": (below, math.inf),
    }
    return ranges.get(sign, (below, above))


_LARGEST_SAMPLE = 2 << 20
"""Bytes of JSON that a page lays out."""


def sample_page(
    detail: EvaluationDetail,
    line: SampleLine,
    content: bytes,
    total: int,
    cursor: Cursor = FIRST,
) -> Page:
    """The page of one sample of `total`, from its JSON; raises TooLarge."""
    return render_rollout(view_sample(detail, line, content, total, cursor))


def view_sample(
    detail: EvaluationDetail,
    line: SampleLine,
    content: bytes,
    total: int,
    cursor: Cursor = FIRST,
    share: int = 1,
) -> RolloutContent:
    """One sample of `total`, from its JSON, on a page that so many share; raises TooLarge."""
    path = evaluation_path(detail.evaluation_id)
    return view_rollout(
        _decode(detail, line, content),
        path=sample_path(path, line.number),
        run=Link(detail.name, path),
        title=_sample_title(line),
        previous=sample_path(path, line.number - 1) if line.number > 1 else None,
        next=sample_path(path, line.number + 1) if line.number < total else None,
        command=_sample_command(detail, line),
        cursor=cursor,
        share=share,
    )


def sample_tokens_page(
    detail: EvaluationDetail, line: SampleLine, content: bytes, pointer: str, page: int
) -> Page:
    """A page of a sample's tokens; raises NotFound, TooLarge."""
    path = sample_path(evaluation_path(detail.evaluation_id), line.number)
    rollout = Link(_sample_title(line), path)
    command = _sample_command(detail, line)
    return tokens_page(_decode(detail, line, content), rollout, pointer, page, command)


def sample_part(
    detail: EvaluationDetail, line: SampleLine, content: bytes, pointer: str, *, indented: bool
) -> bytes:
    """All of what a sample's page shows the beginning of; raises NotFound, TooLarge."""
    return part_of(_decode(detail, line, content), pointer, indented=indented)


def _decode(detail: EvaluationDetail, line: SampleLine, content: bytes) -> RolloutSample:
    if len(content) > _LARGEST_SAMPLE:
        raise TooLarge(
            f"Sample {line.number} has {len(content):,} bytes, too many for a page",
            hint=f"get it with `{_sample_command(detail, line)}`",
        )
    return sample_of(decode(content, dict[str, Any]))


def _sample_title(line: SampleLine) -> str:
    example, rollout = line.place
    return f"Example {example}, rollout {rollout}" if rollout else f"Sample {line.number}"


def _sample_command(detail: EvaluationDetail, line: SampleLine) -> str:
    return f"prime eval samples {detail.evaluation_id} -n 1 -p {line.number}"
