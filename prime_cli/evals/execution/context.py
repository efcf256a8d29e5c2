"""What is decided before a run starts."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from prime_cli.core.progress import Progress
from prime_cli.evals.execution.signals import SignalRouter
from prime_cli.models.budget import Budget
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.replay import Recording
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.price_book import PriceBook
from prime_cli.models.registry import Registry
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.labels import UNLABELLED, Labels
from prime_cli.runs.manifest import ModelFlags
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.retries import AskedAgain
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.tally import RolloutKey, Tally
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.runtime.sandbox import NetworkNamespace, Sandbox
from prime_cli.runtime.variables import Variables

WriteKept = Callable[[RunFolder, Tally, Scrubber], None]
"""Puts into the folder of a new run, and its tally, what it has from the earlier one."""


@dataclass(frozen=True)
class RunOrigin:
    """The run or evaluation that this one makes again, in one of two ways, by its id.

    The first `examples` must have `fingerprint`, unless that is None. `left_out` are rollouts that
    are not made again, `kept` those that `lay_out` takes over as they are. With `is_direct`
    rewards are given to the completions that `lay_out` saved, whose run asked again `asked_again`.
    """

    rerun_of: str | None = None
    rescored_of: str | None = None
    examples: int = 0
    fingerprint: str | None = None
    left_out: frozenset[RolloutKey] = field(default_factory=frozenset)
    kept: frozenset[RolloutKey] = field(default_factory=frozenset)
    lay_out: WriteKept | None = None
    is_direct: bool = False
    asked_again: AskedAgain | None = None


@dataclass(frozen=True)
class RunContext:
    """Where a run happens: runs are saved below `cwd`, `environ` is that of this process.

    `budget` is shared with other runs, in place of the caps of the plan; whoever shares it has
    counted what earlier sessions spent. `switchboard` brings signals to a run that is not in the
    main thread; `turn` is held by the one of them that chooses its interpreter. `given` are
    variables for the environment alone: of an `--env-file`, or with a value on the command line.
    """

    cwd: Path
    environ: Mapping[str, str]
    progress: Progress
    offline: bool = False
    budget: Budget | None = None
    switchboard: SignalRouter | None = None
    turn: AbstractContextManager[object] = field(default_factory=nullcontext)
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def variables(self) -> Mapping[str, str]:
        """What the environment may be given: this process's variables, and `given`, which win."""
        return {**self.environ, **self.given}


@dataclass(frozen=True)
class RunInputs:
    """What a run is made of, once there is an interpreter that has the environment.

    `passed` are variables that the environment was allowed by name, `asked` is what named the
    model. Without `prices` those of today hold. `recording` is what a replay answers from, `origin`
    the run that this one makes again. With `retry_errors` a resume asks again for every rollout
    that ended in an error.
    """

    plan: EvalPlan
    interpreter: Interpreter
    endpoint: Endpoint
    registry: Registry
    passed: Mapping[str, str] = field(default_factory=dict)
    sandbox: Sandbox | None = None
    asked: ModelFlags | None = None
    prices: PriceBook | None = None
    recording: Recording | None = None
    origin: RunOrigin | None = None
    retry_errors: bool = False
    labels: Labels = UNLABELLED


@dataclass(frozen=True, kw_only=True)
class RunSetup(RunInputs):
    """The inputs of a run, and all else that is settled before the first process starts.

    `variables` are all that the environment is given, and what is withheld; `environ` are those of
    this process. `prices` are those that the gateway goes by, `saved` is a file of the completions
    of `origin`. `namespace` is what keeps a worker without a sandbox to the gateway.
    """

    run_id: str
    environ: Mapping[str, str]
    scrub: Scrubber
    log: Path
    variables: Variables
    gateway: GatewaySettings
    prices: PriceBook
    offline: bool = False
    namespace: NetworkNamespace | None = None
    switchboard: SignalRouter | None = None
    saved: Path | None = None
