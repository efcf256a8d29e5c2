"""The two evaluators: how each is installed, called, and read."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

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
    """A command line, its surroundings, and how its mean reward is read."""

    name: str
    argv: list[str]
    env: dict[str, str]
    cwd: Path

    def reward(self, output: str) -> float | None:
        """The mean reward that the program reports; None where it shows none."""
        raise NotImplementedError


class Prime(Contestant):
    """`prime eval run` of the environment's folder."""

    def reward(self, output: str) -> float | None:
        try:
            mean = json.loads(output)["reward"]["mean"]
        except (ValueError, KeyError, TypeError):
            return None
        return None if mean is None else float(mean)


class VfEval(Contestant):
    """`vf-eval` of the verifiers release that the environment pins."""

    def reward(self, output: str) -> float | None:
        found = re.findall(r"reward[^\n]*?(?:avg|mean)?[^\n\d]*?(\d+\.\d+)", output)
        return float(found[0]) if found else None


def prime(load: Load, url: str, *, prime_command: str, work: Path) -> Contestant:
    """Our side; outputs and interpreters stay below `work`."""
    argv = [prime_command, "eval", "run", str(ENVIRONMENTS / f"bench_{load.generation}")]
    argv += ["-m", "mock", "-b", url, "-k", KEY_VARIABLE, "-n", str(load.rollouts), "-r", "1"]
    argv += ["-c", str(load.concurrency), "--output", "json"]
    return Prime("prime eval run", argv, _variables(work), _folder(work / "prime-runs"))


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
    return VfEval("vf-eval", argv, env, _folder(work / "vf-runs"))


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
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def _variables(work: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "LANG") if name in os.environ}
    quiet = {"HF_HUB_OFFLINE": "1", "PRIME_TRACES_OPT_OUT": "1", "NO_COLOR": "1"}
    return kept | quiet | {KEY_VARIABLE: "bench", "PRIME_HOME": str(work / "home")}


def _folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path
