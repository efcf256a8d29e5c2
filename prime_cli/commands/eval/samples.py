"""`prime eval samples`."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import typer

from prime_cli.commands.eval.get import EvaluationArg
from prime_cli.commands.options import (
    ContextOpt,
    OfflineOpt,
    OutputOpt,
    QuietOpt,
    open_session,
)
from prime_cli.core.errors import UsageError

_COLUMNS = ("Example", "Rollout", "Reward", "Error", "Completion")
_SHOWN = 200
"""Characters of a completion in the table."""


def samples(
    ctx: typer.Context,
    evaluation: EvaluationArg,
    num: Annotated[int, typer.Option("--num", "-n", min=1, max=1000, help="Rows on a page.")] = 100,
    page: Annotated[int, typer.Option("--page", "-p", min=1, help="Which page.")] = 1,
    errors: Annotated[bool, typer.Option("--errors", help="Only those that errored.")] = False,
    above: Annotated[float | None, typer.Option("--above", help="With a larger reward.")] = None,
    below: Annotated[float | None, typer.Option("--below", help="With a smaller reward.")] = None,
    search: Annotated[
        str | None, typer.Option("--search", "-s", help="With this text somewhere.")
    ] = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Show the samples of an evaluation on the hub.

    With `--output json` or `jsonl` whole, as they were pushed.

    \b
    Example:
      prime eval samples ev_1f2e3d4c --below 0.5
      prime eval samples ev_1f2e3d4c --output jsonl
    \b
    See also: `prime eval get`, `prime eval list --hub`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    hub = session.hub
    filtered = errors or above is not None or below is not None or search is not None
    if filtered and not hub.evaluations.knows_batches:
        raise UsageError(
            f"{hub.host} cannot pick samples",
            hint=f"save them: `prime eval get {evaluation} --save`, then use `prime eval show`",
        )
    found = hub.evaluations.samples(
        evaluation,
        page=page,
        limit=num,
        errors_only=errors,
        reward_above=above,
        reward_below=below,
        search=search,
    )
    records = [msgspec.json.decode(each, type=dict[str, Any]) for each in found.samples]
    whole = msgspec.to_builtins(msgspec.structs.replace(found, samples=[])) | {"samples": records}
    rows = [_row(each) for each in records]
    session.output.table(_COLUMNS, rows, records=records, page=whole)
    if found.has_more:
        session.output.hint(f"{found.total} in all; see more with `--page {page + 1}`")


def _row(sample: Mapping[str, Any]) -> list[str]:
    reward, error = sample.get("reward"), sample.get("error")
    return [
        str(sample.get("example_id", "")),
        str(sample.get("rollout_number", "")),
        f"{reward:.3f}" if isinstance(reward, int | float) else "none",
        _error(error) if error else "",
        _last_words(sample.get("completion"))[:_SHOWN],
    ]


def _error(error: Any) -> str:
    named = error.get("error") or error.get("type") if isinstance(error, dict) else error
    return str(named or "error")


def _last_words(completion: Any) -> str:
    """The end of a conversation, which is what was scored."""
    last = completion[-1] if isinstance(completion, list) and completion else completion
    text = last.get("content") if isinstance(last, dict) else last
    if text is None:
        return ""
    return text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
