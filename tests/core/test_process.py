"""Other programs: how they are run, ended, and what variables they are given."""

import ast
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import prime_cli
from prime_cli.core.process import TimedOut, child_environment, run
from tests.helpers.processes import is_running


def test_output_error_stream_and_code_are_kept_apart() -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"

    completed = run([sys.executable, "-c", code])

    assert (completed.code, completed.out, completed.err) == (3, "out\n", "err\n")
    assert not completed.ok


def test_words_are_not_read_by_a_shell() -> None:
    completed = run([sys.executable, "-c", "import sys; print(sys.argv[1])", "$HOME; ls"])

    assert completed.out == "$HOME; ls\n"


def test_input_arrives_and_without_input_stdin_is_empty() -> None:
    code = "import sys; print(repr(sys.stdin.read()))"

    assert run([sys.executable, "-c", code], input="hé").out == "'hé'\n"
    assert run([sys.executable, "-c", code]).out == "''\n"


def test_bytes_that_are_not_utf8_do_not_fail() -> None:
    code = "import sys; sys.stdout.buffer.write(b'\\xff ok')"

    assert run([sys.executable, "-c", code]).out == "\ufffd ok"


def test_a_given_environment_replaces_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "1")
    code = "import os; print('SECRET_OF_OURS' in os.environ, os.environ['GIVEN'])"

    assert run([sys.executable, "-c", code], env={"GIVEN": "yes"}).out == "False yes\n"


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_a_program_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "child"
    # A shell starts within milliseconds, also where the machine is busy.
    script = f"sleep 600 & echo $! > '{pid_file}'; echo started; wait"

    with pytest.raises(TimedOut) as raised:
        run(["sh", "-c", script], timeout=3)

    assert raised.value.partial.out == "started\n"
    assert _has_ended(int(pid_file.read_text()))


def test_a_missing_program_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run([tmp_path / "nothing"])


def test_the_error_stream_is_what_counts_in_the_last_lines() -> None:
    code = "import sys; print('out'); print('a\\nb\\nc', file=sys.stderr)"

    assert run([sys.executable, "-c", code]).last_lines(2) == "b\nc"


def _has_ended(pid: int) -> bool:
    for _ in range(600):
        if not is_running(pid):
            return True
        time.sleep(0.1)
    return False


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
MENTIONED = {
    "subprocess",
    "webbrowser",
    "os.exec",
    "posix.exec",
    "os.spawn",
    "os.system",
    *STARTERS,
} - {
    "call",
    "system",
}
ALLOWED = {
    "core/process.py": "the one place, which strips credentials",
    "core/ssh_signatures.py": "ssh-keygen asks for a passphrase at the terminal, so it keeps stdin",
    "runtime/launch.py": "the worker, which is given variables by runtime/variables.py",
    "evals/execution/ray/connection.py": "talks to Ray, by child_environment and less",
    "hub/supervisors.py": "a supervisor, which outlives us: what it is given alone",
    "hub/compute/local/supervisor.py": "the sshd of a pod, with a path and its mark alone",
    "hub/sandboxes/bubblewrap/agent.py": "the commands of a sandbox, whose variables are its own",
    "hub/sandboxes/bubblewrap/launch.py": "bwrap, with no variables",
    "hub/sandboxes/internet.py": "slirp4netns, from an event loop, by child_environment",
    "hub/sandboxes/namespace.py": "nsenter, from an event loop, by child_environment",
    "models/serving/launch.py": "an engine, which goes on; with those of our keys that it needs",
    "training/adapters/rllm.py": "prime and verl, in a project of the user's, without our package",
    "models/serving/guard.py": "the same engine, with the variables that the guard was given",
    "client/pods/ssh/exec.py": "ssh in our place, and scp, which shows its progress",
    "hub/compute/sky/driver/run.py": "for a Python without us, with the variables it got",
}


def test_no_credential_reaches_a_program_and_only_those_of_indexes_an_installer() -> None:
    ours = KEYS | OF_INDEXES | OTHERS
    assert child_environment(ours) == OTHERS
    direct = {"NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1"}
    assert child_environment(ours, installs=True) == OTHERS | OF_INDEXES | direct


def test_a_program_is_started_without_credentials_by_default(
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
        if name.startswith(("runtime/worker/", "starters/", "envs/project/templates/")):
            continue
        text = path.read_text(encoding="utf-8")
        if not any(word in text for word in MENTIONED):
            continue  # to parse them all takes seconds
        if any(_starts(node) for node in ast.walk(ast.parse(text))):
            yield name


def _starts(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    match node.func:
        case ast.Attribute(value=ast.Name(id="subprocess" | "webbrowser"), attr=attr):
            return not attr.endswith("Error")
        case ast.Attribute(value=ast.Name(id="os" | "posix"), attr=attr):
            return attr in STARTERS or attr.startswith(("exec", "spawn"))
        case ast.Attribute(attr=attr) | ast.Name(id=attr):
            return attr in STARTERS - {"call", "system"}
    return False


def test_who_watches_is_told_what_is_on_stderr_and_nothing_is_lost() -> None:
    code = (
        "import sys, time; print('é', file=sys.stderr, flush=True); time.sleep(1.3); print('out')"
    )
    heard: list[tuple[float, str]] = []
    done = run(
        [sys.executable, "-X", "utf8", "-c", code],
        watch=lambda seconds, said: heard.append((seconds, said)),
    )
    assert (done.out, done.err) == ("out\n", "é\n")
    assert heard[0][0] >= 1.0
    assert heard[-1][1] in ("", "é\n")  # an interpreter may take a second to start


def test_a_program_that_is_watched_takes_no_input() -> None:
    with pytest.raises(ValueError, match="cannot be combined"):
        run([sys.executable, "-c", ""], input="x", watch=lambda seconds, said: None)
