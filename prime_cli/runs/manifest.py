"""run.json: what was run, with what, and how it ended."""

import platform
from pathlib import Path
from typing import Any

import msgspec

from prime_cli import __version__
from prime_cli.core.errors import UsageError
from prime_cli.core.paths import open_regular, storage_errors, write_atomically
from prime_cli.models.price_book import PricesRecord
from prime_cli.runs.access_requests import NetworkConnection, WithheldVariable
from prime_cli.runs.plan import EvalPlan, Labels, RunChange
from prime_cli.runs.rows import SCHEMA, AskedAgain, SpentBy
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.spending import ServedModel
from prime_cli.runs.summary import Counts, Reward
from prime_cli.runtime.protocol import AgentInfo, JudgeInfo

MOST_WARNINGS = 10
"""Warnings of an environment that are said and kept."""

RUNNING = "running"
FINISHED = "finished"
INTERRUPTED = "interrupted"
FAILED = "failed"
CAPPED = "capped"
"""For a run stopped by `--max-cost` or `--token-budget`; `failure` says which."""
STOPPED = "stopped"
"""For a run whose process is gone without recording its end."""


class ModelFlags(msgspec.Struct, frozen=True, kw_only=True):
    """The flags that chose the endpoint, as typed; no key and no header value."""

    model: str | None = None
    base_url: str | None = None
    key_var: str | None = None
    endpoints_path: str | None = None
    provider: str | None = None


class InterpreterFacts(msgspec.Struct, frozen=True):
    """What executed the environment; `found_by` names the step that chose its packages."""

    python: str
    verifiers: str
    generation: str
    digest: str | None = None
    found_by: str | None = None
    lock_digest: str | None = None


class RunSession(msgspec.Struct, frozen=True, kw_only=True):
    """One process that worked on a run: when, how it ended, and which release of prime.

    If it was killed, `ended` and `seconds` are those of its last finished rollout. `host` is the
    machine that it ran on, `code` that of the error that it ended with, `signal` the number of a
    signal that ended it.
    """

    started: str
    ended: str | None = None
    seconds: float | None = None
    status: str = RUNNING
    failure: str | None = None
    prime: str = __version__
    host: str | None = None
    code: str | None = None
    signal: int | None = None


class RunManifest(msgspec.Struct, frozen=True, kw_only=True):
    """One run. Times are ISO 8601 with zone, `seconds` is wall time without preparation.

    `started` is that of the first of its `sessions`, `ended`, `status` and `failure` those of the
    last, `seconds` their sum. `asked` is the model as requested, for a resume.

    `fingerprint` is the digest of the examples, `planned` the number of rollouts; both are known
    once the environment has loaded, as is what plays the `agents` of a v1 environment, described by
    `harness`, and the `judges` that an environment declares; `counts`, `reward` and `asked_again`
    (the rollouts whose model was asked more than once) once the run has ended. `usage` is the total
    spent: the sum of the journal's lines and of `unjournaled`, by role and model. `prices` are
    those of the last session, `connections` the hosts that the environment connected to besides the
    gateway, `withheld` the variables it requested in vain, `warned` what its own code warned of.
    `rerun_of` and `rescored_of` name the run or evaluation that this one repeats, `parts` the runs
    that it was merged from. `labels` are tags, a note and the commit; `changes` were made while it
    ran; `served` counts who answered, in sessions that recorded their end. `training` is what a
    training adds, for `prime_cli.training`.
    """

    schema: int = SCHEMA
    run_id: str
    plan: EvalPlan
    started: str
    status: str = RUNNING
    ended: str | None = None
    seconds: float | None = None
    examples: int | None = None
    planned: int | None = None
    fingerprint: str | None = None
    unit: str | None = None
    harness: str | None = None
    agents: tuple[AgentInfo, ...] = ()
    judges: tuple[JudgeInfo, ...] = ()
    interpreter: InterpreterFacts | None = None
    counts: Counts | None = None
    reward: Reward | None = None
    asked_again: AskedAgain | None = None
    usage: dict[str, Any] = {}
    unjournaled: SpentBy = {}
    prices: PricesRecord | None = None
    connections: tuple[NetworkConnection, ...] = ()
    failure: str | None = None
    sessions: tuple[RunSession, ...] = ()
    asked: ModelFlags | None = None
    rerun_of: str | None = None
    rescored_of: str | None = None
    withheld: tuple[WithheldVariable, ...] = ()
    warned: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    labels: Labels = Labels()
    changes: tuple[RunChange, ...] = ()
    served: tuple[ServedModel, ...] = ()
    training: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    prime: str = __version__
    system: str = msgspec.field(default_factory=platform.platform)


def save_manifest(path: Path, manifest: RunManifest, scrub: Scrubber) -> None:
    """Write `manifest` atomically, without secrets; raises StorageFailed."""
    content = scrub(msgspec.json.format(msgspec.json.encode(manifest), indent=2))
    write_atomically(path, content + b"\n", mode=0o644)


def load_manifest(path: Path) -> RunManifest:
    """Read a run.json; raises UsageError if it is invalid, or from a newer prime."""
    with storage_errors(path), open_regular(path) as file:
        content = file.read()
    try:
        schema = msgspec.json.decode(content, type=_Versioned).schema
        if schema > SCHEMA:
            raise UsageError(
                f"{path} was written by a newer prime (schema {schema})",
                hint="upgrade prime to read it",
            )
        manifest = msgspec.json.decode(content, type=RunManifest)
        msgspec.convert(manifest.usage, type=_Usage)
        msgspec.convert(manifest.unjournaled, type=dict[str, dict[str, _Counts]])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not the manifest of a run: {error}") from error
    return manifest


_Counts = dict[str, int | float | None]
_Usage = dict[str, int | float | bool | dict[str, _Counts] | None]
"""For `usage` and `unjournaled`, whose keys are looked up by name."""


class _Versioned(msgspec.Struct):
    schema: int
