"""A job of a CI service, from its first command to its last: install, run, gate, push."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.helpers.cli import COMMAND, prime_process
from tests.helpers.scripts import matches, read_script
from tests.helpers.serving import ServedHub, serve
from tests.helpers.tools import needs_bubblewrap
from tests.helpers.wild import write_project

JOB = Path(__file__).parent / "github_actions.txt"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[ServedHub]:
    with serve(tmp_path / "served" / "data", "--admin", "lab") as served:
        yield served


class Runner:
    """A machine on which only `job` and `temp` can be written, without HOME and terminal."""

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self.job, self.temp = folder / "job", folder / "temp"
        self.job.mkdir(parents=True)
        self.temp.mkdir()
        cache = Path(os.environ["UV_CACHE_DIR"])
        cache.mkdir(parents=True, exist_ok=True)
        self._writable = (self.job, self.temp, cache)
        kept = {n: v for n, v in os.environ.items() if n in _KEPT or n.startswith("UV_")}
        self.environ = {
            **kept,
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary.md"),
            "RUNNER_TEMP": str(self.temp),
            "TMPDIR": str(self.temp),
            **variables,
        }

    def prime(self, argv: list[str]) -> tuple[int, str]:
        """Run `prime`; its exit code, and its stdout and stderr together."""
        binds = [word for path in self._writable for word in ("--bind", str(path), str(path))]
        walls = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *binds)
        done = subprocess.run(
            [*walls, "--chdir", str(self.job), *COMMAND, *argv],
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=600,
            check=False,
        )
        return done.returncode, done.stdout

    def filled(self, text: str) -> str:
        """`text` with this machine's variables in it."""
        for name, value in self.environ.items():
            text = text.replace(f"${name}", value)
        return text


_KEPT = ("PATH", "LANG", "SSL_CERT_FILE", "PIP_CERT")


@pytest.mark.slow
@needs_bubblewrap
def test_a_job_without_a_home_installs_runs_gates_and_pushes(
    hub: ServedHub, tmp_path: Path
) -> None:
    runner = Runner(tmp_path / "runner", _prepare(hub, tmp_path))
    for step in read_script(JOB).steps:
        match step.command:
            case ["export", assignment]:
                name, _, value = assignment.partition("=")
                runner.environ[name] = runner.filled(value)
            case ["prime", *argv]:
                code, said = runner.prime([runner.filled(word) for word in argv])
                told = f"{JOB.name}:{step.line}: $ prime {' '.join(argv)}\n{said}[exit {code}]"
                if code != step.code or not matches(step.expected, said.splitlines()):
                    pytest.fail(told, pytrace=False)
                assert "\x1b" not in said
                assert runner.environ["HUB_KEY"] not in said
    assert "tiny-env" in (runner.temp / "summary.md").read_text(encoding="utf-8")
    assert (runner.job / "gate.xml").is_file()
    with hub.client(runner.environ["HUB_KEY"]) as client:
        pushed = client.get("/api/v1/evaluations/").json()["evaluations"]
    assert len(pushed) == 2


def _prepare(hub: ServedHub, folder: Path) -> dict[str, str]:
    """Publish an environment of `lab`, and make the user that the job works as."""
    data = ("--data", str(hub.out.with_suffix("")))
    published = folder / "published"
    published.mkdir()
    write_project(published)
    upload = ("env", "upload", "tiny-env", "--no-check", "--visibility", "PUBLIC")
    done = prime_process(*upload, "--output", "json", cwd=published, env=hub.variables).ok()
    prime_process("hub", "user", "add", "bot", *data)
    key = prime_process("hub", "token", "add", "bot", *data).ok().out.strip()
    return {"HUB_URL": hub.url, "HUB_KEY": key, "PIN": done.json["wheel_sha256"]}
