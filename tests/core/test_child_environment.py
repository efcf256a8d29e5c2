"""Programs that we start are given no keys, whoever starts them."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import prime_cli
from prime_cli.core.process import child_environment, run

KEYS = {
    "PRIME_API_KEY": "pit_planted",
    "OPENAI_API_KEY": "sk-planted",
    "HF_TOKEN": "hf_planted",
    "MY_MODEL_SECRET": "s",
    "PGPASSWORD": "p",
    "ROOT_PASSWORD": "p",
    "PRIME_HUB_DATABASE": "postgresql://hub/hub",
    "REDIS": "redis://:planted@cache:6379",
}
OF_INDEXES = {
    "UV_INDEX_LAB_PASSWORD": "planted",
    "UV_INDEX": "https://ada:planted@packages.example.org/simple",
    "PIP_INDEX_URL": "https://ada:planted@packages.example.org/simple",
    "AWS_SECRET_ACCESS_KEY": "planted",
    "GH_TOKEN": "planted",
}
OTHERS = {
    "PATH": "/bin",
    "HTTPS_PROXY": "http://ada:planted@proxy:3128",
    "TOKENIZERS_PARALLELISM": "false",
    "GIT_CONFIG_KEY_0": "user.name",
    "MAIL": "ada@example.org",
    "ODD": "x://[",
}

STARTERS = {
    "Popen", "call", "check_call", "check_output", "create_subprocess_exec",
    "create_subprocess_shell", "popen", "posix_spawn", "startfile", "system",
}  # fmt: skip
"""Names by which Python starts another program, whatever module they are taken from."""
ALLOWED = {
    "core/process.py": "the one place, which strips credentials",
    "envs/signing/ssh.py": "ssh-keygen asks for a passphrase at the terminal, so it keeps stdin",
    "runtime/launch.py": "the worker, which is given variables by runtime/variables.py",
    "hub/compute/local/launching.py": "a keeper, which outlives us, with a path and its mark alone",
    "hub/compute/local/keeper/server.py": "the sshd of a pod, with a path and its mark alone",
    "pods/ssh/copying.py": "scp, which shows its progress at the terminal",
    "pods/ssh/sessions.py": "ssh, which has our terminal, or goes on in our place",
    "hub/compute/sky/driver/sky_clusters.py": "for a Python without us, with the variables it got",
}


def test_no_credential_reaches_a_program_and_only_those_of_indexes_an_installer() -> None:
    ours = KEYS | OF_INDEXES | OTHERS
    assert child_environment(ours) == OTHERS
    assert child_environment(ours, installs=True) == OTHERS | OF_INDEXES


def test_a_program_is_started_without_credentials_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PRIME_API_KEY", "pit_planted")
    told = run([sys.executable, "-c", "import os; print(dict(os.environ))"]).out
    assert "PATH" in told
    assert "planted" not in told


def test_programs_are_started_in_one_place() -> None:
    assert set(_starting()) == ALLOWED.keys(), (
        "start programs by `prime_cli.core.process.run`, which gives them no keys; if that cannot "
        "be, give them `child_environment()` and name the file in ALLOWED with the reason"
    )


def _starting() -> Iterator[str]:
    root = Path(prime_cli.__file__).parent
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        # The worker is the environment's own process; the rest is text for others' projects.
        if name.startswith(("runtime/worker/", "starters/", "envs/templates/")):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(_starts(node) for node in ast.walk(tree)):
            yield name


def _starts(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    match node.func:
        case ast.Attribute(value=ast.Name(id="subprocess" | "webbrowser"), attr=attr):
            return not attr.endswith("Error")
        case ast.Attribute(value=ast.Name(id="os"), attr=attr):
            return attr in STARTERS or attr.startswith(("exec", "spawn"))
        case ast.Attribute(attr=attr) | ast.Name(id=attr):
            return attr in STARTERS - {"call", "system"}
    return False
