"""Train with prime-rl: from what the user asks, write its file, let it judge that, start it, and
follow its metrics.
"""

import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import tomli_w

from prime_cli.core.builtin_models import ORACLE
from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import format_number
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.core.progress import Progress
from prime_cli.evals.planning.locate import LookupContext
from prime_cli.evals.planning.prepare import PreparedRun, prepare
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.models.serving.engines import find_gpus
from prime_cli.models.serving.launch import Launch, RunningEngine, engine_environment
from prime_cli.models.serving.plan import model_folder
from prime_cli.runs.folder import new_run_folder, run_group_name
from prime_cli.runs.plan import ALL
from prime_cli.runtime.packages import WheelPackage, import_name
from prime_cli.training.engines.prime_rl.checkout import (
    Checkout,
    commit_note,
    dry_run,
    install_environment,
    open_checkout,
)
from prime_cli.training.engines.prime_rl.settings import (
    METRICS,
    RUN,
    EnvironmentSource,
    PrimeRlSettings,
    tables,
)
from prime_cli.training.plan import TEMPERATURE
from prime_cli.training.request import (
    GROUP,
    MAX_TOKENS,
    Reporter,
    TrainRequest,
    require_adapters,
    require_schedule,
)

FILE, LOG = "prime-rl.toml", "engine.log"
_HEAD = "# Written by `prime train`. A file of your own wins over it: `@ mine.toml`.\n"
_EVERY_S = 1.0
_NAMES = {
    "train/agg/effective/reward/mean": "reward",
    "reward/all/mean": "reward",
    "loss/mean": "loss",
    "optim/grad_norm": "grad_norm",
    "optim/lr": "lr",
    "entropy/all/mean": "entropy",
    "mismatch_kl/all/mean": "logprob_gap",
    "train/agg/all/is_truncated/mean": "truncated",
}
"""Our names of theirs; all others are kept under `extra`."""
_OF_THE_LINE = frozenset(("step", "time"))
_WANDB = {"WANDB_PROJECT": "project", "WANDB_ENTITY": "entity", "WANDB_NAME": "name"}


@dataclass(frozen=True)
class PrimeRlRun:
    """One training: the checkout, the environment's package, and the folder of the run.

    `files` are the user's, which win over the generated one; `own` are words for its launcher.
    """

    checkout: Checkout
    package: WheelPackage
    settings: PrimeRlSettings
    folder: Path
    files: tuple[Path, ...] = ()
    own: tuple[str, ...] = ()

    @property
    def all_files(self) -> tuple[Path, ...]:
        """Ours, then the user's."""
        return (self.folder / FILE, *self.files)

    def check(self, progress: Progress) -> None:
        """Write the file, install the environment, and let prime-rl check everything.

        Raises UsageError for what it refuses, and as `install_environment` does.
        """
        require_v1(self.package)
        if self.settings.gpus == 1 and not self.files:
            raise UsageError(
                "prime-rl needs two GPUs, one to train and one for vLLM, and one is visible",
                hint="`--engine trl` shares one, or set it in a file of your own: `@ mine.toml`",
            )
        note = commit_note(self.checkout)
        if note is not None:
            progress.say(note)
        write_settings(self.settings, self.folder)
        install_environment(self.checkout, self.package, progress)
        with progress.task("Checking the file with prime-rl's own dry run"):
            dry_run(self.checkout, self.all_files, self.own)

    def train(self, environ: Mapping[str, str], progress: Progress) -> None:
        """Run its launcher to the end, which with Slurm only submits a job; raises EngineFailed."""
        if self.settings.gpus == 0 and not self.settings.slurm:
            raise UsageError(
                "prime-rl needs GPUs, and none is visible on this machine",
                hint="`--dry-run` only checks the file; `--engine trl` also trains on a CPU",
            )
        names = ("HF_TOKEN", "WANDB_API_KEY") if self.settings.wandb is not None else ("HF_TOKEN",)
        keys = {name: environ[name] for name in names if environ.get(name)}
        launch = Launch(
            "prime-rl",
            self.checkout.command(self.all_files, self.own),
            engine_environment(environ, keys),
            self.folder / LOG,
            tuple(keys.values()),
        )
        with (
            MetricsFollower(self.folder / RUN / METRICS, self.folder / METRICS, progress),
            RunningEngine(launch) as engine,
        ):
            engine.wait_for_success()


def write_settings(settings: PrimeRlSettings, folder: Path) -> Path:
    """Write the file of prime-rl to `folder`; raises StorageFailed."""
    path = folder / FILE
    content = _HEAD + tomli_w.dumps(tables(settings, folder))
    write_atomically(path, content.encode(), mode=0o644)
    return path


def require_v1(package: WheelPackage) -> None:
    """Raise UsageError for an environment of v0."""
    if package.facts.exposes == "v0":
        raise UsageError(
            f"{package.facts.name} is a v0 environment, and prime-rl trains v1 ones alone",
            hint="`--engine trl` trains v0 and v1",
        )


class MetricsFollower(AbstractContextManager["MetricsFollower"]):
    """Copies steps from prime-rl's file into ours, and shows the newest, until it is left."""

    def __init__(self, source: Path, target: Path, progress: Progress) -> None:
        self._source = MetricsFile(source)
        self._target = target
        self._progress = progress
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> "MetricsFollower":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._copy(ended=True)

    def _follow(self) -> None:
        while not self._ended.wait(_EVERY_S):
            self._copy()

    def _copy(self, *, ended: bool = False) -> None:
        for step in self._source.steps(ended=ended):
            with storage_errors(self._target), self._target.open("ab") as file:
                file.write(msgspec.json.encode(step) + b"\n")
            self._progress.say(_line(step))


def _line(step: Mapping[str, object]) -> str:
    words: Sequence[str] = [
        f"{name} {format_number(value)}"
        for name in ("reward", "loss", "entropy")
        if isinstance(value := step.get(name), int | float)
    ]
    return f"Step {step['step']}: {', '.join(words) or 'no metrics'}"


class MetricsFile:
    """Reads a growing file; a line counts once it is complete."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._open: dict[int, dict[str, Any]] = {}

    def steps(self, *, ended: bool = False) -> Iterator[dict[str, Any]]:
        """What is new: each step once, with the metrics of all processes that reported it.

        A step is complete when a later one begins, or the run has ended.
        """
        for line in self._lines():
            step = line.get("step")
            if isinstance(step, int) and not isinstance(step, bool):
                self._note(step, line)
        newest = max(self._open, default=0)
        for step in sorted(self._open):
            if ended or step < newest - 1:  # the trainer is a step behind the orchestrator
                yield self._open.pop(step)

    def _note(self, step: int, line: dict[str, Any]) -> None:
        known = self._open.setdefault(step, {"step": step, "extra": {}})
        for name, value in line.items():
            if name in _NAMES:
                known[_NAMES[name]] = value
            elif name not in _OF_THE_LINE:
                known["extra"][name] = value

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                content = file.read()
        except FileNotFoundError:
            return
        whole = content.rpartition(b"\n")[0]
        self._read += len(whole) + 1 if whole else 0
        for line in whole.split(b"\n"):
            try:
                found = msgspec.json.decode(line)
            except msgspec.DecodeError:
                continue
            if isinstance(found, dict):
                yield found


def plan_prime_rl(
    request: EvalRequest,
    training: TrainRequest,
    lookup: LookupContext,
    environ: Mapping[str, str],
    progress: Progress,
    files: Sequence[Path] = (),
    own: tuple[str, ...] = (),
) -> PrimeRlRun:
    """Decide and fetch, and make the folder of the run; raises UsageError, NotFound."""
    if request.model is None:
        raise UsageError("A training needs a model", hint="`-m FOLDER`, or a name on Hugging Face")
    require_schedule(training)
    require_adapters(training)
    if training.engine_dir is None:
        raise UsageError(
            "prime-rl is not on PyPI: it is started in your own checkout",
            hint="clone and install it, and add `--engine-dir FOLDER`",
        )
    if training.report not in (None, Reporter.WANDB):
        raise UsageError("prime-rl reports to wandb alone", hint="`--report wandb`, or omit it")
    checkout = open_checkout((lookup.cwd / training.engine_dir.expanduser()).resolve())
    # A built-in model needs no server, and is not asked.
    placed = replace(request, model=ORACLE, num_examples=ALL, rollouts_per_example=1)
    prepared = prepare(placed, lookup, environ, progress, own_weights=True)
    require_v1(prepared.subject.package)
    folder = model_folder(request.model, lookup.cwd)
    model = request.model if folder is None else str(folder)
    name = model.rstrip("/").rpartition("/")[2] if folder is not None else model
    plan = prepared.plan
    parent = lookup.cwd / (plan.option("output_dir") or "outputs") / "train"
    run_folder = new_run_folder(parent / run_group_name(plan.environment.name, name))
    settings = PrimeRlSettings(
        model=model,
        is_local=folder is not None,
        source=_source(prepared),
        steps=training.steps,
        batch=training.batch,
        group=request.rollouts_per_example or GROUP,
        lr=training.lr,
        lr_schedule=training.lr_schedule.value,
        warmup=training.warmup,
        max_tokens=request.max_tokens or MAX_TOKENS,
        temperature=TEMPERATURE if request.temperature is None else request.temperature,
        save_every=training.save_every,
        keep=training.keep,
        gpus=len(find_gpus()),
        slurm=any(map(_has_slurm, files)),
        lora=training.lora,
        refill=training.refill > 0,
        lora_alpha=training.lora_alpha,
        lora_targets=training.lora_targets,
        sampling=request.sampling or {},
        wandb=None if training.report is None else _wandb(environ),
    )
    package = prepared.subject.package
    return PrimeRlRun(checkout, package, settings, run_folder.path, tuple(files), own)


def _source(prepared: PreparedRun) -> EnvironmentSource:
    plan = prepared.plan
    module = import_name(prepared.subject.package.facts)
    return EnvironmentSource(plan.environment.name, module, plan.env_args, more=plan.extra_args)


def _has_slurm(file: Path) -> bool:
    """Whether a file of the user's lets Slurm choose the machines; prime-rl judges invalid ones."""
    try:
        return "slurm" in tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False


def _wandb(environ: Mapping[str, str]) -> dict[str, str]:
    return {key: environ[name] for name, key in _WANDB.items() if environ.get(name)}
