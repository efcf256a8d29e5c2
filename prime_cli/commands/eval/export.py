"""`prime eval export`, and data sets pushed to the Hugging Face Hub."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.contract import BUILDS
from prime_cli.commands.eval.run_options import DatasetOptions
from prime_cli.commands.eval.summary import relative_path
from prime_cli.commands.options import (
    ForceOpt,
    hub_options,
    open_session,
)
from prime_cli.core.errors import PrimeError, UsageError
from prime_cli.core.formatting import format_bytes, pluralize
from prime_cli.runs.export.exports import Export, Format, default_path, export_run, format_for
from prime_cli.runs.export.page import MOST_TRANSCRIPTS
from prime_cli.runs.export.sft import Chosen
from prime_cli.runs.listing import find_run
from prime_cli.runs.saved_run import SavedRun, open_run
from prime_cli.session import Session
from prime_cli.terminal.output import Output

_TRACES = "prime_cli.evals.rerun.traces"


@hub_options(answer=(Export, f"{_TRACES}:TracesExport", f"{__name__}:Pushed"), effects=BUILDS)
def export(
    ctx: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(help="A run's id or its folder.", show_default="the newest here"),
    ] = None,
    to: Annotated[
        Format | None,
        typer.Option("--to", help="The form.", show_default="what --out ends in, else html"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-O",
            help="The file, or the folder for hf, verifiers and atif.",
            show_default="by run",
        ),
    ] = None,
    max_transcripts: Annotated[
        int,
        typer.Option(
            "--max-transcripts", metavar="N", min=0, help="Maximum number of transcripts in a page."
        ),
    ] = MOST_TRANSCRIPTS,
    min_reward: Annotated[
        float | None,
        typer.Option(
            "--min-reward", metavar="X", help="For sft: rollouts of at least this reward."
        ),
    ] = None,
    best_of_group: Annotated[
        bool, typer.Option("--best-of-group", help="For sft: the best rollout of each example.")
    ] = False,
    force: ForceOpt = False,
    *,
    dataset: DatasetOptions,
    public: Annotated[
        bool, typer.Option("--public", help="With -H: make a new dataset public.")
    ] = False,
) -> None:
    """Export a saved evaluation as HTML, CSV or a dataset.

    html is a single file that opens in a browser without a server; csv has one row for each
    rollout; hf is a folder of Parquet with a card, for the Hugging Face Hub; sft has a line of JSON
    for each conversation without an error, for `prime train --sft`, TRL and prime-rl. Runs of
    vf-eval can be exported too. verifiers is a folder as vf-eval writes it, for `vf-replay`; the
    run's environment is loaded for it, without a model. atif is a folder of trajectories as Harbor
    has them, one for each rollout.

    \b
    Example:
      prime eval export
      prime eval export 1f2e3d4c --out wordle.csv
      prime eval export 1f2e3d4c --to sft --min-reward 0.8 --best-of-group
      prime eval export 1f2e3d4c --to verifiers --out wordle-traces
      prime eval export 1f2e3d4c -H -D me/wordle-rollouts
    \b
    See also: `prime eval show`, `prime eval list`, `prime eval run`.
    """
    session = open_session(ctx)
    saved = find_run(run, Path.cwd())
    if dataset.save_to_hf_hub:
        _refuse_beside_push(to, out)
        push_as_dataset(
            session, saved, dataset.hf_hub_dataset_name, environ=os.environ, public=public
        )
        return
    if public or dataset.hf_hub_dataset_name:
        raise UsageError("`--public` and `-D` need a push", hint="add `-H` to push a dataset")
    form = format_for(out, to)
    chosen = Chosen(min_reward, best_of_group)
    if chosen != Chosen() and form is not Format.SFT:
        raise UsageError(
            "`--min-reward` and `--best-of-group` choose rows to fine-tune on", hint="`--to sft`"
        )
    place = out or default_path(saved, form, Path.cwd())
    if form is Format.VERIFIERS:
        _export_traces(session, saved, place, force=force)
        return
    done = export_run(
        *(saved, form, place, session.progress),
        force=force,
        most_transcripts=max_transcripts,
        chosen=chosen,
    )
    _report(session.output, done)


def _export_traces(session: Session, saved: SavedRun, place: Path, *, force: bool) -> None:
    # Lazy: what runs an environment takes time to import.
    from prime_cli.evals.rerun.traces import export_traces, source_for_traces
    from prime_cli.models.registry import load_registry

    source, lookup = source_for_traces(saved), session.lookup_context()
    registry = load_registry(None, lookup.cwd, os.environ)
    done = export_traces(
        *(source, place, lookup, registry, session.run_context()),
        force=force,
    )
    size = f"{pluralize(done.rollouts, 'rollout')}, {format_bytes(done.bytes)}"
    session.output.done(
        f"Exported {done.run_id} to {relative_path(done.path)} ({size})", value=done
    )
    session.output.say(done.words)


def _refuse_beside_push(to: Format | None, out: Path | None) -> None:
    if out is not None or to not in (None, Format.HF):
        raise UsageError(
            "`-H` pushes a dataset and writes no file",
            hint="omit `--to` and `--out`, or omit `-H`",
        )


def _report(output: Output, done: Export) -> None:
    if done.selection is not None:
        size = f"{done.selection.words} ({format_bytes(done.bytes)})"
        output.done(f"Exported {done.run_id} to {relative_path(done.path)}: {size}", value=done)
        return
    if done.transcripts < done.rollouts:
        output.warn(
            f"Only the first {done.transcripts:,} of {done.rollouts:,} transcripts are in the page",
            hint=f"include more with `--max-transcripts {done.rollouts}`, or all with `--to csv`",
        )
    size = f"{pluralize(done.rollouts, 'rollout')}, {format_bytes(done.bytes)}"
    output.done(f"Exported {done.run_id} to {relative_path(done.path)} ({size})", value=done)


class Pushed(msgspec.Struct, frozen=True):
    """A data set on the Hugging Face Hub, and the run that is in it."""

    run_id: str
    url: str
    rollouts: int
    is_public: bool


def check_dataset_push(session: Session, environ: Mapping[str, str]) -> None:
    """Raise what would stop a push, before anything is paid for: see `require_pushing`."""
    from prime_cli.evals.sharing.hugging_face import require_pushing

    require_pushing(environ, offline=session.config.offline)


def push_as_dataset(
    session: Session,
    saved: SavedRun,
    name: str | None,
    *,
    environ: Mapping[str, str],
    public: bool = False,
) -> None:
    """Push `saved` and say where it is; raises what `push_dataset` raises."""
    check_dataset_push(session, environ)
    pushed = _push(session, saved, name, environ, public=public)
    session.output.done(f"Pushed {pushed.run_id} to {pushed.url}", value=pushed)
    if pushed.is_public:
        session.output.say(_now_public(pushed))
    elif public:
        session.output.warn(
            "The dataset was there and is private, which `--public` does not change",
            hint=f"make it public in its settings: {pushed.url}/settings",
        )


def _now_public(pushed: Pushed) -> str:
    return f"{pushed.run_id} is now public: {pushed.url}"


def push_as_dataset_at_end(
    session: Session, folder: Path, name: str | None, *, environ: Mapping[str, str]
) -> None:
    """The same at the end of a run, whose exit code a push that fails does not change."""
    try:
        pushed = _push(session, open_run(folder), name, environ, public=False)
    except PrimeError as error:
        again = f"prime eval export {folder.name} -H" + (f" -D {name}" if name else "")
        session.output.warn(error.message, hint=f"the run is kept; push it with `{again}`")
    else:
        session.output.say(_now_public(pushed) if pushed.is_public else f"Pushed to {pushed.url}")


def _push(
    session: Session,
    saved: SavedRun,
    name: str | None,
    environ: Mapping[str, str],
    *,
    public: bool,
) -> Pushed:
    from prime_cli.evals.sharing.hugging_face import push_dataset
    from prime_cli.runs.export.exports import Format, export_run

    with tempfile.TemporaryDirectory(prefix="prime-export-") as folder:
        done = export_run(saved, Format.HF, Path(folder), session.progress)
        with session.progress.task("Pushing to the Hugging Face Hub"):
            url, is_public = push_dataset(
                Path(folder), name or _default_name(saved), environ=environ, public=public
            )
    return Pushed(done.run_id, url, done.rollouts, is_public)


def _default_name(saved: SavedRun) -> str:
    from prime_cli.evals.sharing.hugging_face import dataset_name

    if saved.manifest is not None:
        environment = saved.manifest.plan.environment.name
    else:
        environment = str((saved.official or {}).get("env_id", "")).rpartition("/")[2]
    return dataset_name(saved.summary(), environment or "evaluation")
