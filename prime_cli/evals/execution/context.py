"""Where a run happens, and the run as it is set up there."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from prime_cli.core.progress import Progress
from prime_cli.evals.execution.signals import SignalRouter
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.price_book import PriceBook
from prime_cli.models.prices import Budget
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.runtime.sandbox import NetworkNamespace, Sandbox
from prime_cli.runtime.variables import Variables


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
class WorkerAccess:
    """What the processes of an environment may reach.

    `passed` are variables that were allowed by name; `variables` are all that they are given,
    `passed` among them, and what is withheld.
    """

    passed: Mapping[str, str]
    variables: Variables
    sandbox: Sandbox | None = None


@dataclass(frozen=True, kw_only=True)
class RunSetup:
    """A prepared run in its folder, with all that is settled before the first process starts.

    `prices` are those that the gateway goes by. `namespace` is what keeps a worker without a
    sandbox to the gateway.
    """

    prepared: PreparedRun
    context: RunContext
    folder: RunFolder
    interpreter: Interpreter
    access: WorkerAccess
    gateway: GatewaySettings
    prices: PriceBook
    scrub: Scrubber
    namespace: NetworkNamespace | None = None

    @property
    def plan(self) -> EvalPlan:
        """What is run."""
        return self.prepared.plan

    @property
    def run_id(self) -> str:
        """The run's own id."""
        return self.folder.run_id

    @property
    def saved(self) -> Path | None:
        """The file of the completions that are scored again; None where the model is asked."""
        origin = self.prepared.origin
        return self.folder.saved if origin is not None and origin.is_direct else None
