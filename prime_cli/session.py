"""What every command is given: settings, hub, terminal; each is made on first use."""

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient, Transport
    from prime_cli.core.config import Config
    from prime_cli.core.progress import Progress
    from prime_cli.terminal.output import Output


class Session:
    """The dependencies of one invocation.

    `transport` replaces the way to the hub (tests, embedders).
    """

    def __init__(self, transport: "Transport | None" = None) -> None:
        self.transport = transport
        self.mode: str | None = None
        self.quiet = False
        self.context_name: str | None = None
        self.offline_flag: bool | None = None

    def configure(
        self,
        *,
        mode: str | None = None,
        quiet: bool = False,
        context: str | None = None,
        offline: bool | None = None,
    ) -> None:
        """Take the shared options of the command line; before anything is made from them."""
        self.mode, self.quiet = mode, quiet
        self.context_name, self.offline_flag = context, offline

    @cached_property
    def config(self) -> "Config":
        """What is set, and where each value came from."""
        from prime_cli.core.config import load_config

        return load_config(context=self.context_name, offline=self.offline_flag)

    @cached_property
    def output(self) -> "Output":
        """Where data and talk go."""
        from prime_cli.terminal.output import Output

        return Output(self.mode, quiet=self.quiet)

    @property
    def progress(self) -> "Progress":
        """How domain code reports while it works."""
        return self.output.progress

    @cached_property
    def hub(self) -> "HubClient":
        """The hub of the current context, embedded or over a socket."""
        raise NotImplementedError
