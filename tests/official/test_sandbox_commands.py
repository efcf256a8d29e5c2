"""Every operation of the official `prime sandbox`, of both generations, against a served hub."""

import json
import shlex
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.helpers.official import KNOWN, MIDDLE, NEWEST, OfficialClient
from tests.helpers.tools import needs_bubblewrap
from tests.official.sandbox_hubs import SandboxHub, sandbox_hub

pytestmark = [pytest.mark.slow, pytest.mark.network, needs_bubblewrap]

BOTH = (MIDDLE, NEWEST)
_CREATE = "create python:3.11-slim"
# The words of each, its exit code, what it prints, and the releases that have it.
COMMANDS: tuple[tuple[str, int, str, tuple[str, ...]], ...] = (
    ("list -l mine -o json", 0, '"total": 1', BOTH),
    ("list", 0, "python:3.11-slim", BOTH),
    ("get {box}", 0, "Limited to: pypi.org", BOTH),
    ("get {box} -o json", 0, '"status": "RUNNING"', BOTH),
    ("run {box} -- sh -c 'echo out; echo err >&2; exit 3'", 3, "err", BOTH),
    ("run {box} -w /tmp -e K=V -- sh -c 'echo $K $PWD $A $S'", 0, "V /tmp 1 x", BOTH),
    ("run {box} --timeout 1 -- sleep 20", 1, "timed out after 1s", BOTH),
    ("upload {box} {file} /tmp/sub/", 0, "Remote path: /tmp/sub/file", BOTH),
    ("run {box} 'cat /tmp/sub/file'", 0, "hello", BOTH),
    ("download {box} /tmp/sub/file {back}", 0, "File downloaded successfully", BOTH),
    ("download {box} /nowhere {file}", 1, "", BOTH),
    ("logs {box}", 0, "No logs available", BOTH),
    ("reset-cache --yes", 0, "cleared successfully", BOTH),
    ("network {box}", 0, "Access limited to: pypi.org", BOTH),
    ("network {box} --allow pypi.org", 0, "limited to: pypi.org:443, pypi.org:80", BOTH),
    ("network {box} --deny pypi.org", 1, "HTTP 422", BOTH),
    ("network list", 1, "no networks among themselves", (NEWEST,)),
    ("network create lan", 1, "no networks among themselves", (NEWEST,)),
    ("run {container} -- sh -c 'exit 3'", 3, "", (MIDDLE,)),
    ("expose {container} 8000", 1, "its ports cannot be exposed", (MIDDLE,)),
    ("unexpose {container} 1 --yes", 1, "Sandboxes of this hub cannot do that", (MIDDLE,)),
    ("list-ports", 1, "Sandboxes of this hub cannot do that", (MIDDLE,)),
    ("list-ports {container}", 1, "its ports cannot be exposed", (MIDDLE,)),
    ("ssh {container}", 1, "no SSH server", BOTH),
    ("fork {box} --yes", 1, "Sandboxes of this hub cannot do that", (NEWEST,)),
    ("checkpoint create {box}", 1, "Sandboxes of this hub cannot do that", (NEWEST,)),
    ("checkpoint list {box}", 1, "Sandboxes of this hub cannot do that", (NEWEST,)),
    ("checkpoint get 1", 1, "Sandboxes of this hub cannot do that", (NEWEST,)),
    ("volumes list", 1, "no volumes", (NEWEST,)),
    ("volumes create v", 1, "no volumes", (NEWEST,)),
    ("create alpine:3 --yes", 1, "HTTP 422", BOTH),
    (f"{_CREATE} --gpu-count 1 --gpu-type H100_80GB --yes", 1, "have no GPUs", BOTH),
    (f"{_CREATE} --region us --yes", 1, "no regions", BOTH),
    (f"{_CREATE} --idle-timeout-minutes 5 -l two --yes", 0, "", BOTH),
    ("create -l two --yes python:3.11-slim -- echo begun", 0, "", BOTH),
    ("run none -- true", 1, "Sandbox not found", BOTH),
    ("get none", 1, "Sandbox not found", BOTH),
    ("delete none --yes", 1, "Sandbox not found", BOTH),
    ("delete -l two --yes", 0, "", BOTH),
    ("delete {box} --yes", 0, "Successfully deleted", BOTH),
    ("run {box} -- true", 1, "Sandbox Not Running", BOTH),
    ("delete --all --yes", 0, "", BOTH),
    ("list", 0, "Total: 0", BOTH),
    ("list --all -l mine", 0, "TERMINATED", BOTH),
)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxHub]:
    with sandbox_hub(tmp_path_factory.mktemp("served") / "hub") as served:
        yield served


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", BOTH)
def test_every_command_does_what_it_says(hub: SandboxHub, version: str, tmp_path: Path) -> None:
    slug = f"user-{version.replace('.', '-')}"
    key = hub.add_user(slug)
    variables = {"PRIME_API_BASE_URL": hub.url, "PRIME_API_KEY": key}
    with closing(hub.client(key)) as ours:
        # As `prime login` stores it.
        variables["PRIME_USER_ID"] = ours.accounts.whoami().id
    prime = OfficialClient(KNOWN[version], tmp_path, variables)
    file, back = tmp_path / "file", tmp_path / "back"
    file.write_text("hello", "utf-8")
    prime(*_words(f"{_CREATE} -l mine --env A=1 --secret S=x --yes")).ok()
    box = container = _find(prime, "mine")
    if version == MIDDLE:
        # Its default is a VM, whose ports it does not even ask for.
        prime(*_words(f"{_CREATE} --container --start-command date -l old --yes")).ok()
        container = _find(prime, "old")
    wrong = []
    for line, code, says, releases in COMMANDS:
        if version in releases:
            done = prime(*_words(line.format(box=box, container=container, file=file, back=back)))
            if done.code != code or says not in done.out + done.err:
                wrong.append((line, done.code, done.out + done.err))
    assert not wrong, "\n".join(f"{line}: {code}\n{text}" for line, code, text in wrong)
    assert back.read_text("utf-8") == "hello"


def _words(line: str) -> list[str]:
    return ["sandbox", *shlex.split(line)]


def _find(prime: OfficialClient, label: str) -> str:
    listed = json.loads(prime(*_words(f"list -l {label} -o json")).ok().out)
    return str(listed["sandboxes"][0]["id"])
