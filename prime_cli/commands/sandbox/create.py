"""`prime sandbox create`."""

import re
import secrets
import shlex
import time
import uuid
from dataclasses import dataclass, fields
from typing import Annotated

import typer

from prime_cli.client.api.client import HubClient
from prime_cli.commands.base import AFTER_DASHES
from prime_cli.commands.contract import SPENDS, WRITES
from prime_cli.commands.options import YES, hub_options, open_session, panel_order
from prime_cli.commands.sandbox.lookup import SandboxDetails, detailed, parse_pairs
from prime_cli.core.config import PRIME_API_URL
from prime_cli.core.errors import EnvironmentFailed, ExitCode, TooSlow, UsageError
from prime_cli.core.options import Option
from prime_cli.session import Session
from prime_cli.wire.sandboxes import (
    DEFAULT_IMAGE,
    LIVE,
    NETWORKS,
    RUNNING,
    Sandbox,
    SandboxCreation,
    StartCommand,
)

_SIZE, _NETWORK, _INSIDE, _LIFE, _CLOUD = PANELS = (
    "Size",
    "Network",
    "Inside",
    "Lifetime",
    "Prime's cloud",
)
_WAIT_SECONDS = 600.0
_POLL_SECONDS = 0.5


def _network(text: str) -> str:
    if text not in NETWORKS:
        raise UsageError(f"`--network {text}` is not one of {', '.join(NETWORKS)}")
    return text


@dataclass(frozen=True)
class SandboxOptions:
    """A new sandbox, by the official client's names."""

    # fmt: off
    name: Annotated[str | None, Option(
        "A name.", metavar="NAME", show_default="from the image"
    )] = None
    label: Annotated[tuple[str, ...], Option(
        "A label; repeatable.", names=("--label", "-l"), metavar="LABEL"
    )] = ()
    team_id: Annotated[str | None, Option("The team that owns it.", metavar="ID")] = None
    cpu_cores: Annotated[float, Option("CPU cores.", metavar="N", panel=_SIZE, least=0.1)] = 1
    memory_gb: Annotated[float, Option("Memory.", metavar="GB", panel=_SIZE, least=0.1)] = 2
    disk_size_gb: Annotated[float, Option("Disk.", metavar="GB", panel=_SIZE, least=0.1)] = 5
    gpu_count: Annotated[int, Option("GPUs.", metavar="N", panel=_SIZE, least=0)] = 0
    gpu_type: Annotated[str | None, Option(
        "The type of its GPUs.", metavar="TYPE", panel=_SIZE
    )] = None
    network: Annotated[str | None, Option(
        "What the sandbox can reach.", metavar="|".join(NETWORKS), panel=_NETWORK, parse=_network,
        show_default="the hub's setting"
    )] = None
    network_allow: Annotated[tuple[str, ...], Option(
        "Allow only this host; repeatable.", metavar="HOST", panel=_NETWORK
    )] = ()
    network_deny: Annotated[tuple[str, ...], Option(
        "Block this host, on the public hub only; repeatable.", metavar="HOST", panel=_NETWORK
    )] = ()
    env: Annotated[tuple[str, ...], Option(
        "Set an environment variable; repeatable.", metavar="NAME=VALUE", panel=_INSIDE
    )] = ()
    secret: Annotated[tuple[str, ...], Option(
        "Set a secret variable; repeatable.", metavar="NAME=VALUE", panel=_INSIDE
    )] = ()
    start_command: Annotated[str | None, Option(
        "Start this shell command instead of COMMAND.", metavar="TEXT", panel=_INSIDE
    )] = None
    timeout_minutes: Annotated[int, Option(
        "Minutes until it ends; -1 is the longest that the hub allows.", metavar="N", panel=_LIFE
    )] = 60
    idle_timeout_minutes: Annotated[int | None, Option(
        "Minutes without a call until it ends.", metavar="N", panel=_LIFE, least=1
    )] = None
    region: Annotated[str | None, Option("Where it runs.", metavar="REGION", panel=_CLOUD)] = None
    arch: Annotated[str | None, Option("amd64 or arm64.", metavar="ARCH", panel=_CLOUD)] = None
    registry_credentials_id: Annotated[str | None, Option(
        "For a private image.", metavar="ID", panel=_CLOUD
    )] = None
    guaranteed: Annotated[bool, Option("Never evicted.", panel=_CLOUD)] = False
    vm: Annotated[bool | None, Option(
        "A virtual machine or a container.", names=("--vm/--container",), panel=_CLOUD
    )] = None
    # fmt: on


@panel_order(*PANELS)
@hub_options(
    YES, "wait", answer=SandboxDetails, effects=(WRITES, SPENDS), exits=ExitCode.ENVIRONMENT
)
def create(
    ctx: typer.Context,
    image: Annotated[
        str | None,
        typer.Argument(metavar="[IMAGE]", help="A container image.", show_default=DEFAULT_IMAGE),
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="Its start command, run without a shell."),
    ] = None,
    *,
    options: SandboxOptions,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it runs.")] = False,
) -> None:
    """Create a sandbox.

    Refuses options that no provider of the hub supports, and says what to use instead. Does not
    ask for confirmation; on the public hub, a sandbox costs money.

    \b
    Example:
      prime sandbox create
      prime sandbox create python:3.12-slim --name box --wait
      prime sandbox create --network none --timeout-minutes 10 -- sleep 60
    \b
    See also: `prime sandbox run`, `prime sandbox delete`.
    """
    session = open_session(ctx)
    # Without IMAGE the first word of COMMAND is read as one.
    words, after = [image, *(command or [])] if image else [], ctx.meta[AFTER_DASHES]
    named = words[: len(words) - len(after)]
    if len(named) > 1:
        raise UsageError("Write `--` before COMMAND", hint="prime sandbox create IMAGE -- COMMAND")
    creation = _creation(session.hub, named[0] if named else None, after, options)
    try:
        made = session.hub.sandboxes.create(creation)
    except UsageError as error:
        raise UsageError(_with_flags(error.message), hint=error.hint) from None
    made = _wait(session, made) if wait else _require_live(made)
    session.output.done(f"{made.id} ({made.name}) is {made.status}", value=detailed(made))
    if not session.output.is_json:
        for sentence in _differences(made):
            session.output.say(sentence)
        name = shlex.quote(made.name)
        session.output.hint(f"run something with `prime sandbox run {name} -- COMMAND`")


def _creation(
    hub: HubClient, image: str | None, command: list[str], options: SandboxOptions
) -> SandboxCreation:
    if command and options.start_command is not None:
        raise UsageError("`--start-command` and COMMAND are mutually exclusive")
    if options.network_allow and options.network_deny:
        raise UsageError("`--network-allow` and `--network-deny` are mutually exclusive")
    image = image or DEFAULT_IMAGE
    is_public = hub.base_url == PRIME_API_URL
    if options.vm and not is_public:
        # Not refused by the hub, as the newer clients of its API always ask for one.
        raise UsageError(
            "Sandboxes of this hub are not virtual machines",
            hint="omit `--vm`; Prime's cloud (`--context prime`) has them",
        )
    start = StartCommand(command[0], command[1:]) if command else None
    if is_public and options.start_command is not None:
        start = StartCommand("/bin/sh", ["-c", options.start_command])
    return SandboxCreation(
        name=options.name or _name_for(image),
        docker_image=image,
        start_command=start or options.start_command,
        cpu_cores=options.cpu_cores,
        memory_gb=options.memory_gb,
        disk_size_gb=options.disk_size_gb,
        gpu_count=options.gpu_count,
        gpu_type=options.gpu_type,
        vm=options.vm or is_public or None,
        network=None if is_public else options.network,
        network_allowlist=[]
        if options.network == "none" and is_public
        else list(options.network_allow) or None,
        network_denylist=list(options.network_deny) or None,
        timeout_minutes=options.timeout_minutes,
        idle_timeout_minutes=options.idle_timeout_minutes,
        environment_vars=parse_pairs(options.env, "--env"),
        secrets=parse_pairs(options.secret, "--secret"),
        labels=list(options.label),
        team_id=options.team_id,
        registry_credentials_id=options.registry_credentials_id,
        region=options.region,
        guaranteed=options.guaranteed or None,
        arch=options.arch,
        idempotency_key=uuid.uuid4().hex,
    )


def _name_for(image: str) -> str:
    """`python-3-11-slim-a1b2`: a name that no other one has by chance."""
    words = re.sub(r"[^a-z0-9]+", "-", image.rpartition("/")[2].lower()).strip("-")
    return f"{words[:40]}-{secrets.token_hex(2)}"


def _wait(session: Session, made: Sandbox) -> Sandbox:
    until = time.monotonic() + _WAIT_SECONDS
    while made.status != RUNNING:
        _require_live(made)
        if time.monotonic() > until:
            raise TooSlow(f"{made.name} is still {made.status}")
        time.sleep(_POLL_SECONDS)
        made = session.hub.sandboxes.get(made.id)
    return made


def _require_live(made: Sandbox) -> Sandbox:
    if made.status not in LIVE:
        raise EnvironmentFailed(
            f"{made.name} did not start: {made.error_message or made.status}",
            hint=f"see `prime sandbox get {made.id}`",
        )
    return made


def _with_flags(message: str) -> str:
    """The hub's sentence, with the fields of its API as the options that give them."""
    for field in fields(SandboxOptions):
        flag = field.name.replace("_", "-")
        if flag != field.name:
            message = message.replace(f"`{field.name}`", f"`--{flag}`")
    return message


def _differences(made: Sandbox) -> list[str]:
    """What is not as it was asked for, in sentences."""
    facts = {name: str(fact) for name, fact in (made.advanced_configs or {}).items()}
    image = facts.pop("image", made.docker_image)
    lacking = [
        f"Its {name} is {fact}"
        for name, fact in facts.items()
        if "not limited" in fact or "not filtered" in fact or name == "engine"
    ]
    return lacking if image == made.docker_image else [image, *lacking]
