"""Environments that run code, on releases of verifiers and on both providers: the reward of each.

    python benchmarks/sandboxes/environments.py [ROLLOUTS] [PROVIDER…] [VERSION…]

A scripted model calls the tools of `PythonEnv` and `SandboxEnv`, with and without `--sandbox`. Each
rollout has a reward of 1.0 and each sandbox ends, or this exits with 1. `engine` is a Podman of its
own with an image of Debian packages, which needs root.
"""

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.helpers.engines import podman_with_python
from tests.helpers.sandbox_environments import INSTALLED, KINDS, NEWEST, SandboxCase, evaluate

VERSIONS = ("0.1.8", "0.1.14", "0.3.0")
PROVIDERS = ("bubblewrap", "engine")
# The first without walls: it builds what `--sandbox` then finds built.
CASES = [SandboxCase(k, v, w) for v in VERSIONS for w in (False, True) for k in KINDS]
CASES.append(SandboxCase("python", NEWEST))
_TEMPLATE = "{:12} {:8} {:10} {:10} {:>8} {:>7} {:>7} {:>9}"


def measure(case: SandboxCase, provider: str, rollouts: int, env: Mapping[str, str]) -> bool:
    """Print a line of the table; whether all went well."""
    walls = "--sandbox" if case.is_walled else ""
    line = (provider, case.kind, case.verifiers, walls)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="prime-sandboxes-") as folder:
        try:
            run = evaluate(case, rollouts, Path.home(), Path(folder), env)
        except AssertionError as error:
            print(_TEMPLATE.format(*line, "failed", "", "", ""), str(error)[-2000:], flush=True)
            return False
    seconds, mean = time.monotonic() - begun, run.shown["reward"]["mean"]
    ended = run.statuses.count("TERMINATED")
    numbers = f"{mean:.3f}", run.shown["counts"]["scored"], ended, f"{seconds:.1f} s"
    print(_TEMPLATE.format(*line, *numbers), flush=True)
    uses = f"by {provider} on this machine" in run.err
    return uses and mean == 1.0 and run.shown["counts"]["scored"] == ended == rollouts


def main() -> None:
    rollouts = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    words = sys.argv[2:]
    providers = [each for each in PROVIDERS if each in words] or PROVIDERS
    cases = [each for each in CASES if each.verifiers in words] or CASES
    has_engine = "engine" in providers
    engines = (
        {"engine": {"CONTAINER_HOST": podman_with_python(*INSTALLED).url}} if has_engine else {}
    )
    cache = os.environ.get("UV_CACHE_DIR") or str(Path.home() / ".cache" / "uv")
    with tempfile.TemporaryDirectory(prefix="prime-home-") as home:
        own = {"HOME": home, "PRIME_HOME": f"{home}/.prime", "UV_CACHE_DIR": cache}
        os.environ.update({**own, "PRIME_OWNER": "ada", "PRIME_UPSTREAM": "none", "NO_COLOR": "1"})
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {rollouts} rollouts of each")
        head = "provider", "kind", "verifiers", "", "reward", "scored", "ended", "took"
        print(_TEMPLATE.format(*head), flush=True)
        done = [
            measure(case, provider, rollouts, engines.get(provider, {}))
            for case in cases
            for provider in providers
        ]
        print(f"{sum(done)} of {len(done)} as wanted, load {os.getloadavg()[0]:.1f}")
    sys.exit(0 if all(done) else 1)


if __name__ == "__main__":
    main()
