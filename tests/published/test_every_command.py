"""Every command that asks a hub ends sensibly, whatever the published schemas let the hub say."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prime_cli.commands.base import LazyCommand, LazyGroup, load
from prime_cli.session import Session
from tests.helpers.cli import Prime
from tests.helpers.ssh_keys import make_key, needs_ssh_keygen
from tests.published.schema_hub import Mode, SchemaHub

pytestmark = needs_ssh_keygen

PUBLISHED: dict[str, str] = {
    "availability list": "",
    "availability gpu-types": "",
    "availability disks": "",
    "pods list": "",
    "pods status": "thing_1",
    "pods create": "--cloud-id {cloud} --yes --no-wait",
    "pods ssh": "thing_1 --print --no-wait",
    "pods logs": "thing_1",
    "pods history": "",
    "pods terminate": "thing_1 --yes",
    "sandbox create": "--name box --yes",
    "sandbox list": "",
    "sandbox get": "thing_1",
    "sandbox logs": "thing_1",
    "sandbox delete": "thing_1 --yes",
    "disks list": "",
    "disks get": "thing_1",
    "disks create": "--size 1 --name data --yes",
    "disks update": "thing_1 --name renamed",
    "disks terminate": "thing_1 --yes",
    "ssh-keys list": "",
    "ssh-keys add": "{key} --name laptop",
    "ssh-keys remove": "thing_1 --yes",
    "ssh-keys set-primary": "thing_1",
    "gc": "--dry-run",
    "whoami": "",
    "teams list": "",
    "teams members": "team_1",
    "secret list": "",
    "secret get": "thing_1",
    "secret delete": "thing_1 --yes",
    "eval list": "--hub",
    "eval get": "thing_1",
    "eval samples": "thing_1",
    "eval logs": "thing_1",
    "eval delete": "thing_1 --yes",
    "logout": "",
    "config show": "",
}
"""What is answered from the schemas, and ends with 0."""

NOT_PUBLISHED: dict[str, str] = {
    **dict.fromkeys(
        "env secret list|env var list|env star|env unstar|env status".split("|"), "ada/x"
    ),
    **dict.fromkeys(
        "env info|env versions|env pull|env inspect|env verify|env fork".split("|"), "ada/x"
    ),
    **dict.fromkeys("env yank|env unyank".split("|"), "ada/x@1.0"),
    "env delete": "ada/x --yes",
    "env install": "ada/x",
    "env diff": "ada/x ada/y",
    "env bundle": "ada/x",
    "env list": "",
    "env publisher list": "ada/x",
    "env publisher remove": "one",
    "env secret link": "ada/x thing",
    "env secret unlink": "ada/x thing --yes",
    "env secret delete": "ada/x thing --yes",
    "env var delete": "ada/x thing --yes",
    "eval rerun": "ada_1",
    "sandbox network": "thing_1",
    "hub user list": "",
    "hub team list": "",
    "hub token list": "",
    "hub usage": "",
    "hub audit": "",
    "hub invitations": "",
    "hub quota list": "",
    "hub quota show": "",
    "hub takedown list": "",
    "teams invitations": "team_1",
    "keys list": "",
    "keys revoke": "one --yes",
    "identities list": "",
}
"""What the schemas do not have: refused in words, or answered with nothing."""


def _commands(group: Any, path: str = "") -> Iterator[str]:
    """Those that take `--context`."""
    for name, member in group.commands.items():
        if member.hidden:
            continue
        found = load(member.target) if isinstance(member, LazyCommand) else member
        typed = f"{path} {name}".strip()
        if isinstance(found, LazyGroup):
            yield from _commands(found, typed)
        elif any("--context" in each.opts for each in found.params):
            yield typed


OTHERWISE = {
    # Of a context that is saved.
    "switch",
    # Of environments, runs and trainings on this machine, which tests/commands runs.
    *"env check|env test|env shell|env migrate|env upload|env trust".split("|"),
    *"env lock|env sync|env outdated".split("|"),
    *"eval run|eval gate|eval push|eval rescore|eval export|train run|open".split("|"),
    *"rollouts serve|rollouts dump".split("|"),
    # The inside of a pod or a sandbox.
    *"pods exec|pods cp|sandbox run|sandbox upload|sandbox download|sandbox cp".split("|"),
    # With a value on stdin, or a login in a browser.
    *"secret set|secret update|env secret set|env secret update|env var set|env var update".split(
        "|"
    ),
    *"login|join|config get|config set|config unset|doctor|env publisher add".split("|"),
    # Changes that only our hubs take, refused as their lists are.
    *"hub user add|hub user remove|hub user identities|hub user unlink|hub team add".split("|"),
    *"hub team remove|hub invite|hub revoke-invitation|hub quota set|hub takedown add".split("|"),
    *"hub takedown remove|hub token remove|teams add|teams remove|teams invite".split("|"),
    *"teams revoke-invitation|keys create|identities unlink".split("|"),
}


def test_every_command_that_asks_a_hub_is_here_or_elsewhere_on_purpose() -> None:
    every = set(_commands(load("prime_cli.commands:app")))
    assert every == PUBLISHED.keys() | NOT_PUBLISHED.keys() | OTHERWISE


@pytest.fixture(params=Mode)
def hub(request: pytest.FixtureRequest) -> SchemaHub:
    return SchemaHub(request.param)


@pytest.fixture
def prime(
    hub: SchemaHub,
    home: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Prime:
    make_key(home / ".ssh")
    monkeypatch.setenv("PRIME_API_BASE_URL", "https://hub.example")
    monkeypatch.setenv("PRIME_API_KEY", "k1")
    return Prime(capfd, monkeypatch, lambda: Session(hub))


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_published_is_enough_for_a_command(
    name: str, hub: SchemaHub, prime: Prime, home: Path
) -> None:
    words = PUBLISHED[name].format(key=home / ".ssh/id_ed25519.pub", cloud="cloudId~text").split()
    done = prime(*name.split(), *(word.replace("~", " ") for word in words))
    if (name, hub.mode) == ("pods ssh", Mode.REQUIRED):
        # No state and no address is required of a pod.
        assert "has no address yet" in done.err
    else:
        done.ok()
    assert hub.faults == []


@pytest.mark.parametrize("name", NOT_PUBLISHED)
def test_what_is_not_published_is_refused_in_words(name: str, hub: SchemaHub, prime: Prime) -> None:
    done = prime(*name.split(), *NOT_PUBLISHED[name].split())
    assert done.code in (0, 2, 3, 4, 5, 6), done.err
    assert done.code == 0 or done.err.startswith("error: ")
    assert "Traceback" not in done.err
    assert hub.faults == []
