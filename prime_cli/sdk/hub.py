"""A hub, as a program has it."""

from functools import cached_property

from prime_cli.core.progress import Progress
from prime_cli.doctor.base import Finding, this_system
from prime_cli.doctor.run import examine
from prime_cli.sdk.environments import Environments
from prime_cli.sdk.evaluations import Evaluations
from prime_cli.sdk.notebook import default_progress
from prime_cli.sdk.rollouts import table_html
from prime_cli.sdk.sandboxes import Sandboxes
from prime_cli.sdk.workspace import Workspace
from prime_cli.session import Session
from prime_cli.wire.accounts import Account


class Hub:
    """The hub that `prime` would talk to here: the one in the box, a team's, or the public one.

    `context` names another than the current one, as `--context` does, and `offline` is
    `--offline`; without them variables and config.toml decide. `progress` is told of work under
    way and of choices that were made; None draws bars in a notebook, and nothing elsewhere. Raises
    NotFound for a context that does not exist and UsageError for settings that cannot be
    understood.

        hub = Hub()
        found = hub.environments.list(search="sort")
        result = hub.evaluations.run("starter/alphabet-sort", "builtin/oracle")
        print(result.summary.reward.mean)
    """

    def __init__(
        self,
        context: str | None = None,
        *,
        offline: bool | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._session = Session(progress=progress or default_progress())
        self._session.configure(context=context, offline=offline)
        self.context = self._session.config.context

    def __repr__(self) -> str:
        return f"Hub({self.context.name!r})"

    def _repr_html_(self) -> str:
        context = self.context
        lines = [("Hub", context.name), ("URL", context.base_url or "the built-in hub")]
        return table_html([*lines, *([("Team", context.team)] if context.team else [])])

    @property
    def url(self) -> str | None:
        """Its address; None for the hub in the box."""
        return self.context.base_url

    def whoami(self) -> Account:
        """Whose key it is; raises NotLoggedIn where the hub wants one and there is none."""
        return self._session.hub.accounts.whoami()

    def doctor(self) -> list[Finding]:
        """What is wrong with this machine or its settings; in about ten seconds at most."""
        session = self._session
        system = this_system(
            lambda: session.config, offline=session.config.offline, transport=session.transport
        )
        return examine(system, session.progress)

    @cached_property
    def environments(self) -> Environments:
        """Find, publish, compare and bundle environments."""
        return Environments(self._session)

    @cached_property
    def workspace(self) -> Workspace:
        """Install and lock environments where the program runs."""
        return Workspace(self._session)

    @cached_property
    def evaluations(self) -> Evaluations:
        """Run, read, compare and push evaluations."""
        return Evaluations(self._session)

    @cached_property
    def sandboxes(self) -> Sandboxes:
        """Create sandboxes, and run code in them."""
        return Sandboxes(self._session)
