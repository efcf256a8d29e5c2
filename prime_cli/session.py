"""What every command is given: settings, hub, terminal; each is made on first use."""

from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from prime_cli.client.api.client import HubClient, Transport
    from prime_cli.core.config import Config
    from prime_cli.core.credentials import Credential
    from prime_cli.core.progress import Progress
    from prime_cli.envs.trust import TrustPolicy, UntrustedOwner
    from prime_cli.evals.execution.setup import RunContext
    from prime_cli.evals.planning.locate import LookupContext, ResolvedEnvironment
    from prime_cli.evals.planning.prepare import ResolvedRequest
    from prime_cli.evals.planning.request import EvalRequest
    from prime_cli.evals.resume.policy import Questions, RunPolicy
    from prime_cli.models.endpoints import Endpoint
    from prime_cli.models.prices import Budget
    from prime_cli.runs.plan import RunEnvironment
    from prime_cli.terminal.output import Output
    from prime_cli.wire.secrets import OpenedSecrets

EMBEDDED_URL = "http://hub.local"
"""The origin of the hub in this process; requests to it never reach a socket."""


class Session:
    """The dependencies of one invocation.

    `transport` replaces the sockets to hubs (tests, embedders), `progress` what the terminal
    would show (programs).
    """

    def __init__(
        self, transport: "Transport | None" = None, *, progress: "Progress | None" = None
    ) -> None:
        self.transport = transport
        self._progress = progress
        self._closing = ExitStack()
        self.command = "prime"
        self.mode: str | None = None
        self.quiet = False
        self.plain = False
        self.context_name: str | None = None
        self.offline_flag: bool | None = None
        self.yes = False
        """Whether what would be asked was answered beforehand."""

    def configure(
        self,
        *,
        mode: str | None = None,
        quiet: bool = False,
        context: str | None = None,
        offline: bool | None = None,
        yes: bool = False,
    ) -> None:
        """Take the common options of the command line; before anything is made from them.

        `prime --plain` and `prime --context NAME` hold where the command does not say otherwise.
        """
        self.mode, self.quiet = mode or ("plain" if self.plain else None), quiet
        self.context_name, self.offline_flag = context or self.context_name, offline
        self.yes = yes

    @cached_property
    def config(self) -> "Config":
        """What is set, and where each value came from; files open to others are closed first."""
        from prime_cli.core.config import load_config
        from prime_cli.core.paths import repair_modes

        config = load_config(context=self.context_name, offline=self.offline_flag)
        for sentence in repair_modes(config.home.value):
            self.output.warn(sentence)
        return config

    @cached_property
    def credential(self) -> "Credential":
        """The key of the current hub, and where it came from."""
        from prime_cli.core.credentials import find_credential

        return find_credential(self.config)

    def close(self) -> None:
        """Close the connections that were opened: no hub is asked after that."""
        self._closing.close()

    @cached_property
    def output(self) -> "Output":
        """Where data and talk go."""
        from prime_cli.terminal.output import Output

        return Output(self.mode, quiet=self.quiet, yes=self.yes, command=self.command)

    @property
    def progress(self) -> "Progress":
        """How domain code reports while it works."""
        return self._progress or self.output.progress

    def trust_policy(self, *, require_signature: bool = False) -> "TrustPolicy":
        """What decides about new owners' code: settings, list, a person, or `--yes`."""
        from pathlib import Path

        from prime_cli.envs.trust import trust_policy_from

        return trust_policy_from(
            self.config,
            Path.cwd(),
            ask=self._ask_to_trust,
            yes=self.yes,
            require_signature=require_signature,
        )

    def _ask_to_trust(self, untrusted: "UntrustedOwner") -> bool:
        """Say whose code it is and what trusting means, and ask.

        Raises Declined after a no, NotTrusted where nobody can be asked.
        """
        from prime_cli.envs.trust import refuse_untrusted

        if not self.output.is_interactive:
            return refuse_untrusted(untrusted)
        ref, what = untrusted.ref, "has no wheel and would be built here"
        if untrusted.sha256:
            what = f"has sha256 {untrusted.sha256}"
        self.output.warn(f"`{ref.owner}` on {untrusted.hub} is new here; {ref} {what}")
        self.output.tell(
            "Its code and its dependencies would run as you, with access to your files and network."
        )
        self.output.confirm(
            f"Trust `{ref.owner}` on this hub from now on?",
            otherwise=f"`{ref.owner}` is not trusted, so nothing was done",
        )
        return True

    def lookup_context(self, trust: "TrustPolicy | None" = None) -> "LookupContext":
        """Where environments are looked for, and which policy (`trust_policy`) judges new owners.

        The hub is opened when it is asked.
        """
        from pathlib import Path

        from prime_cli.evals.planning.locate import LookupContext

        return LookupContext(
            cwd=Path.cwd(),
            hub=lambda: self.hub,
            offline=self.config.offline,
            owner=self.config.owner.value,
            trust=trust or self.trust_policy(),
            env_vars={name: each.value for name, each in self.config.env_vars.items()},
        )

    def run_policy(
        self,
        lookup: "LookupContext | None" = None,
        questions: "Questions | None" = None,
        *,
        context: "RunContext | None" = None,
        is_dry: bool = False,
    ) -> "RunPolicy":
        """What decides about resuming and costs; asks at the terminal by default.

        With the `context` of the run, verifiers' own configuration is resolved where it is given.
        """
        import os

        from prime_cli.evals.resume.policy import RunPolicy

        def resolve(request: "EvalRequest", subject: "ResolvedEnvironment") -> "ResolvedRequest":
            from prime_cli.evals.execution.config import resolve_request

            return resolve_request(request, subject, context or self.run_context())

        lookup = lookup or self.lookup_context()
        return RunPolicy(
            questions or self.output,
            lookup,
            os.environ,
            self.progress,
            quiet=self.quiet,
            resolve=resolve,
            is_dry=is_dry,
        )

    def run_context(
        self,
        budget: "Budget | None" = None,
        *,
        given: "Mapping[str, str] | None" = None,
        verbose: bool = False,
        debug: bool = False,
    ) -> "RunContext":
        """Where and how evaluations happen; `budget` is one that several of them share.

        `given` are variables for the environment alone; the others are as in RunOptions.
        """
        import os
        from pathlib import Path

        from prime_cli.evals.execution.setup import RunContext, RunOptions, RunServices

        return RunContext(
            Path.cwd(),
            os.environ,
            self.progress,
            RunOptions(self.config.offline, given or {}, verbose=verbose, debug=debug),
            RunServices(self._open_secrets, self.sandbox_hub, self._serve_model),
            budget,
        )

    def _serve_model(self, temperature: float | None) -> "AbstractContextManager[Endpoint]":
        """The server of `builtin/smollm2`, for as long as a run takes."""
        from prime_cli.models.serving.server import serve_weights
        from prime_cli.training.engines.catalogue import SERVER

        return serve_weights(temperature, self.progress, SERVER, offline=self.config.offline)

    def _open_secrets(self, environment: "RunEnvironment") -> "OpenedSecrets":
        """The secrets and variables of an environment on the hub, for a run of it."""
        from prime_cli.client.accounts.secrets import open_secrets

        return open_secrets(self.hub, environment.slug if environment.ref else None)

    def sandbox_hub(self, provider: str | None = None) -> "HubClient":
        """The hub that has the sandboxes of a run: `local`, `prime`, or the current one.

        The public hub, whose sandboxes cost money, is taken only by its name. Raises NotLoggedIn.
        """
        from prime_cli.core.config import PRIME, PRIME_API_URL, load_config
        from prime_cli.core.credentials import find_credential
        from prime_cli.core.errors import NotLoggedIn

        at = self.config.context.base_url
        if provider != PRIME:
            return self._box if provider is not None or at == PRIME_API_URL else self.hub
        if at == PRIME_API_URL and self.credential.key:
            return self.hub
        key = find_credential(load_config(context=PRIME)).key
        if key is None:
            raise NotLoggedIn(
                "Sandboxes of the public hub need its key",
                hint="log in with `prime login --context prime`, or set PRIME_API_KEY",
            )
        return self.hub_at(PRIME_API_URL, key)

    @cached_property
    def hub(self) -> "HubClient":
        """The hub of the current context, embedded or over a socket."""
        context = self.config.context
        if context.base_url is None:
            return self._box
        credential = self.credential
        if credential.trouble:
            self.output.warn(credential.trouble, hint="`prime login --storage file` needs none")
        return self.hub_at(context.base_url, credential.key, credential.source)

    def hub_at(self, base_url: str, key: str | None = None, source: str = "") -> "HubClient":
        """The hub at an address, which need not be that of a context, asked with `key`.

        `source` says where that comes from.
        """
        from prime_cli.client.api.client import HubClient

        client = HubClient(
            base_url,
            key=key,
            key_source=source,
            transport=self.transport or self._outside,
            outside=self._outside,
            box=lambda: self._box,
        )
        self._closing.callback(client.close)
        return client

    @cached_property
    def _box(self) -> "HubClient":
        """The hub in this process, which has the starters and reads through to the upstream."""
        from prime_cli.core.config import STARTER_OWNER
        from prime_cli.core.progress import forward_warnings
        from prime_cli.envs.project.starters import starters_are_published

        self._closing.enter_context(forward_warnings("prime_cli.hub", self.progress))
        data = self.config.home.value / "hub"
        if not starters_are_published(data):
            from prime_cli.envs.publish.upload import publish_starters

            publish_starters(self._open_hub(data, STARTER_OWNER), data, self.progress)
        return self._open_hub(data, self.config.owner.value)

    def box_folder(self) -> "Path":
        """The data of the hub in this process, with the starters published."""
        self._box.close()
        return self.config.home.value / "hub"

    def _open_hub(self, data: "Path", owner: str) -> "HubClient":
        from prime_cli.client.api.client import HubClient
        from prime_cli.client.api.transports import AppTransport
        from prime_cli.hub.app import create_app
        from prime_cli.hub.compute.registry import InstalledProviders
        from prime_cli.hub.settings import HubSettings, SandboxSettings

        machines = InstalledProviders(data, options=self._provider_options(), say=self.progress.say)
        sandboxes = SandboxSettings(providers=self.config.sandboxes.value)
        settings = HubSettings(
            data=data, owner=owner, pages=False, providers=machines, sandboxes=sandboxes
        )
        client = HubClient(
            EMBEDDED_URL,
            transport=AppTransport(create_app(settings)),
            outside=self._outside,
            upstream=self._upstream,
        )
        self._closing.callback(client.close)
        return client

    def _provider_options(self) -> dict[str, dict[str, object]]:
        """The user's SkyPilot, which has nothing to say without a network."""
        if self.config.sky.value is None or self.config.offline:
            return {}
        return {"sky": {"command": self.config.sky.value, "infra": self.config.sky_infra.value}}

    @property
    def _upstream(self) -> "HubClient | None":
        """The hub that the embedded one falls back to; asked once and briefly, without a key."""
        from prime_cli.client.api.client import HubClient

        url = self.config.upstream
        if url is None:
            return None
        way = self.transport or self._outside
        return HubClient(url, transport=way, outside=way, attempts=1, connect_seconds=3.0)

    @property
    def _outside(self) -> "Transport | None":
        """The way to hosts other than the hub: sockets, or under `--offline` none at all."""
        from prime_cli.client.api.transports import OfflineTransport

        return OfflineTransport() if self.config.offline else None
