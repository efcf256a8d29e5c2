"""The two evaluators: how each is installed, called, and read."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ENVIRONMENTS = HERE / "environments"
KEY_VARIABLE = "BENCH_API_KEY"


@dataclass(frozen=True)
class Load:
    """One cell of the table."""

    generation: str
    rollouts: int
    concurrency: int
    latency_ms: int


@dataclass(frozen=True)
class Contestant:
    """A command line and its surroundings; `cwd` is fresh, so what it holds is this run's."""

    name: str
    argv: list[str]
    env: dict[str, str]
    cwd: Path

    def rewards(self) -> list[float | None]:
        """The saved reward of every rollout: v0 and prime keep rows, v1 keeps episodes."""
        found: list[float | None] = []
        for path in self.cwd.glob("outputs/**/results.jsonl"):
            found += [json.loads(line)["reward"] for line in path.read_text().splitlines()]
        for path in self.cwd.glob("outputs/**/traces.jsonl"):
            found += [_episode_reward(json.loads(line)) for line in path.read_text().splitlines()]
        return found


def prime(load: Load, url: str, *, prime_command: str, work: Path) -> Contestant:
    """Our side; outputs and interpreters stay below `work`."""
    argv = [prime_command, "eval", "run", str(ENVIRONMENTS / f"bench_{load.generation}")]
    argv += ["-m", "mock", "-b", url, "-k", KEY_VARIABLE, "-n", str(load.rollouts), "-r", "1"]
    argv += ["-c", str(load.concurrency), "--output", "json"]
    return Contestant("prime eval run", argv, _variables(work), _fresh(work / "prime-runs"))


def vf_eval(load: Load, url: str, *, venv: Path, work: Path) -> Contestant:
    """Their side, saving its results too, never uploading them."""
    argv = [str(venv / "bin" / "vf-eval"), f"bench-{load.generation}", "-m", "mock"]
    argv += ["-n", str(load.rollouts), "-r", "1", "-c", str(load.concurrency)]
    if load.generation == "v0":
        argv += ["-b", url, "-k", KEY_VARIABLE, "-s", "--disable-tui"]
    else:
        argv += ["--client.base-url", url, "--client.api-key-var", KEY_VARIABLE, "--no-push"]
        argv += ["--no-rich", "--env.agent.runtime.type", "subprocess"]
        argv += ["--env.agent.harness.id", "null"]
    env = _variables(work) | {"PATH": f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    return Contestant("vf-eval", argv, env, _fresh(work / "vf-runs"))


def driver(script: str, load: Load, url: str, *more: str, python: Path, work: Path) -> Contestant:
    """A script of `drivers/`, which writes its rewards as an evaluator does."""
    path = str(HERE / "drivers" / script)
    argv = [str(python), path, url, str(load.rollouts), str(load.concurrency), *more]
    return Contestant(script, argv, _variables(work), _fresh(work / "driver-runs"))


def make_venv(generation: str, *, work: Path, python: str) -> Path:
    """A venv with the benchmark environment and its verifiers, bytecode compiled; kept."""
    venv = work / f"venv-{generation}"
    if not (venv / "bin" / "vf-eval").exists():
        subprocess.run(["uv", "venv", "-q", "--python", python, str(venv)], check=True)
        install = ["uv", "pip", "install", "-q", "--compile-bytecode", "--python"]
        folder = str(ENVIRONMENTS / f"bench_{generation}")
        subprocess.run([*install, str(venv / "bin" / "python"), folder], check=True)
    return venv


def verifiers_version(venv: Path) -> str:
    """The version that a venv holds."""
    script = "import importlib.metadata as m; print(m.version('verifiers'))"
    argv = [str(venv / "bin" / "python"), "-c", script]
    return subprocess.run(
        argv, check=True, capture_output=True, text=True, encoding="utf-8"
    ).stdout.strip()


def _variables(work: Path) -> dict[str, str]:
    # Settings of prime or of a model client that happen to be set here must not count.
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PRIME_", "OPENAI_", "VIRTUAL_ENV", "PYTHON"))
    }
    quiet = {"HF_HUB_OFFLINE": "1", "PRIME_TRACES_OPT_OUT": "1", "NO_COLOR": "1"}
    return kept | quiet | {KEY_VARIABLE: "bench", "PRIME_HOME": str(work / "home")}


def _episode_reward(episode: dict[str, Any]) -> float | None:
    if not episode["traces"]:
        return None
    rewards = episode["traces"][0]["rewards"].values()
    total: float = sum(reward["score"] * reward["weight"] for reward in rewards)
    return total


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
