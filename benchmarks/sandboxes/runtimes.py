"""A rollout in prime's sandboxes beside one in verifiers' own docker runtime; milliseconds.

    python benchmarks/sandboxes/runtimes.py [COUNT]

One environment, whose tool `bash` is that of `SandboxEnv` or runs in a container of verifiers'
`DockerRuntime`, with one scripted model, one rollout at a time. A rollout is from its first call of
the model to the next one's: three calls, two commands, and the end of one sandbox and the start of
another. The engine is a Podman of its own with an image of Debian packages, which needs root;
verifiers finds its command under the name `docker`, which here kills at once what it removes, as
Docker does: Podman's own waits for 10 seconds.
"""

import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.helpers.cli import prime_process as prime
from tests.helpers.engines import podman_with_python
from tests.helpers.sandbox_environments import SOURCE, solve
from tests.helpers.sandboxes import ended_supervisor
from tests.helpers.scripted_model import Received, Reply, ScriptedModel
from tests.helpers.wild import Shape, write_project

_PROGRAM = """#!/bin/sh
if [ "$1" = rm ]; then shift; set -- rm --time=0 "$@"; fi
exec podman --url {url} "$@"
"""
VERSION = "0.3.0"
"""The last release that has both."""
_DOCKER = '''
from verifiers.v1.runtimes.docker import DockerConfig, DockerRuntime


class DockerEnv(vf.StatefulToolEnv):
    """`vf.SandboxEnv` with a container of verifiers' own."""

    def __init__(self, **options):
        super().__init__(**options)
        self.runtimes = {}
        self.add_tool(self.bash, args_to_skip=["key"])

    async def setup_state(self, state, **kwargs):
        runtime = self.runtimes[state["trajectory_id"]] = DockerRuntime(
            DockerConfig(workdir="/", cpu=1, memory=2)
        )
        await runtime.start()
        return await super().setup_state(state, **kwargs)

    def update_tool_args(self, tool_name, tool_args, messages, state, **kwargs):
        return {**tool_args, "key": state["trajectory_id"]}

    async def bash(self, command: str, key: str) -> str:
        """Execute `command`."""
        found = await self.runtimes[key].run(["/bin/bash", "-c", command], {})
        return found.stdout.strip()

    @vf.cleanup
    async def remove(self, state):
        await self.runtimes.pop(state["trajectory_id"]).stop()


def load_environment'''
_BODY = (
    SOURCE.replace("\ndef load_environment", _DOCKER, 1)
    .replace("size: int = SIZE", "size: int = 1, where: str = 'sandbox'")
    .replace("vf.KIND", "(DockerEnv if where == 'docker' else vf.SandboxEnv)(**options)")
)


def measure(project: Path, where: str, count: int, env: Mapping[str, str]) -> list[float]:
    """The milliseconds of each rollout but the last, whose end nobody sees."""
    begun: list[float] = []

    def answer(request: Received) -> Reply:
        if not any(each["role"] == "tool" for each in request.messages):
            begun.append(time.perf_counter())
        return solve(request)

    chosen = json.dumps({"where": where, "size": count + 1})
    with ended_supervisor(Path.home() / ".prime" / "hub"), ScriptedModel(answer) as model:
        run = prime(
            *("eval", "run", str(project), "-m", "scripted", "-b", model.url, "-a", chosen),
            *(
                "-n",
                str(count + 1),
                "-r",
                "1",
                "-c",
                "1",
                "--verifiers",
                VERSION,
                "--output",
                "json",
            ),
            cwd=project,
            env={**env, "OPENAI_API_KEY": "of the benchmark"},
            timeout=600,
        ).ok()
    assert run.json["reward"]["mean"] == 1.0, run.err
    return [(end - begin) * 1000 for begin, end in itertools.pairwise(begun)]


def main() -> None:
    """Compare, and leave nothing."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    url = podman_with_python().url
    cache = os.environ.get("UV_CACHE_DIR") or str(Path.home() / ".cache" / "uv")
    with tempfile.TemporaryDirectory(prefix="prime-runtimes-") as name:
        folder = Path(name)
        own = {"HOME": name, "PRIME_HOME": f"{name}/.prime", "UV_CACHE_DIR": cache}
        os.environ.update({**own, "PRIME_OWNER": "ada", "PRIME_UPSTREAM": "none", "NO_COLOR": "1"})
        program = folder / "bin" / "docker"
        program.parent.mkdir()
        program.write_text(_PROGRAM.format(url=url), encoding="utf-8")
        program.chmod(0o755)
        project = write_project(folder / "code", Shape(body=_BODY))
        docker = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
        ways: dict[str, tuple[str, Mapping[str, str]]] = {
            "prime, bubblewrap": ("sandbox", {}),
            "prime, Podman": ("sandbox", {"CONTAINER_HOST": url}),
            "verifiers' docker": ("docker", docker),
        }
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {count} rollouts of each")
        for who, (where, env) in ways.items():
            times = measure(project, where, count, env)
            middle, least = statistics.median(times), min(times)
            load = os.getloadavg()[0]
            print(
                f"{who:20} p50 {middle:7.0f} ms   least {least:7.0f} ms   load {load:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
