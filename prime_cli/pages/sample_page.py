"""The pages of a sample of a hub's evaluation, as those of a local rollout."""

from typing import Any

from prime_cli.core.errors import TooLarge
from prime_cli.pages.links import evaluation_path, sample_path
from prime_cli.pages.paging import FIRST, Cursor
from prime_cli.pages.rollout import (
    RolloutView,
    Sample,
    part_of,
    render_rollout,
    tokens_page,
    view_rollout,
)
from prime_cli.pages.runs import Link
from prime_cli.pages.samples import sample_of
from prime_cli.pages.templates import Page
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.wire.codec import decode
from prime_cli.wire.evaluations import EvaluationDetail

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
) -> RolloutView:
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


def _decode(detail: EvaluationDetail, line: SampleLine, content: bytes) -> Sample:
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
