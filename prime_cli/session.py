"""What every command is given: settings, hub, terminal; each is made on first use."""

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

    from prime_cli.api.client import HubClient
    from prime_cli.core.config import Config
    from prime_cli.terminal.output import Output


class Session:
    """The dependencies of one invocation.

    `transport` replaces the way to the hub (tests); `offline` and `context` come from the flags.
    """

    def __init__(self, transport: "httpx.BaseTransport | None" = None) -> None:
        self.transport = transport
        self.mode: str | None = None
        self.quiet = False
        self.context_name: str | None = None
        self.offline_flag: bool | None = None

    @cached_property
    def config(self) -> "Config":
        from prime_cli.core.config import load_config

        return load_config(context=self.context_name, offline=self.offline_flag)

    @cached_property
    def output(self) -> "Output":
        from prime_cli.terminal.output import Output

        return Output(mode=self.mode, quiet=self.quiet)

    @cached_property
    def hub(self) -> "HubClient":
        raise NotImplementedError
