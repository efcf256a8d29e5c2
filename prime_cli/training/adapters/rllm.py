"""rLLM's example for verifiers, by verl and `prime rollouts serve`: the same words.

    python -m prime_adapters.rllm +verifiers.env_id=owner/name \\
        '+verifiers.env_args={max_turns: 3}' +verifiers.max_samples=100 +backend=verl \\
        trainer.n_gpus_per_node=1 …

`env_id`, `env_args`, `max_samples` and `sampling_args` go to prime; all other words are verl's keys
and go to its trainer, with what makes it ask prime (see verl.py). rLLM itself is not needed, and
words for its trainer (`rllm.…`) are left out.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import OmegaConf

TRAINER = "verl.trainer.main_ppo"
_SAMPLING = ("temperature", "top_p", "top_k")
_KNOWN = ("env_id", "env_args", "max_samples", "sampling_args")


@dataclass(frozen=True)
class Words:
    """The words of rLLM's example, sorted: those of prime, and those of verl."""

    env_id: str
    env_args: dict[str, Any] = field(default_factory=dict)
    max_samples: int | None = None
    verl: tuple[str, ...] = ()

    @property
    def serve(self) -> list[str]:
        """The words of `prime rollouts serve`."""
        found = ["rollouts", "serve", self.env_id]
        if self.env_args:
            found += ["-a", json.dumps(self.env_args)]
        if self.max_samples is not None:
            found += ["-n", str(self.max_samples)]
        return found


def sorted_words(words: Sequence[str]) -> Words:
    """Read them as Hydra would; raises SystemExit with a sentence for what is not known."""
    verl, backend = [], "verl"
    parser, config = OverridesParser.create(), OmegaConf.create()
    for word in words:
        plain = word.lstrip("+")
        if plain.startswith("verifiers."):
            try:
                read = parser.parse_override(plain)
            except HydraException as error:
                sys.exit(f"{word} cannot be read: {error}")
            OmegaConf.update(config, read.key_or_group, read.value(), force_add=True)
        elif plain.startswith("rllm."):
            sys.stderr.write(f"{word} has no effect: it is for rLLM's own trainer\n")
        elif plain.startswith("backend="):
            backend = plain.partition("=")[2]
        else:
            verl.append(word)
    if backend != "verl":
        sys.exit(f"backend={backend} is not offered here: see prime_adapters.tinker for Tinker")
    found: Any = OmegaConf.to_container(config)
    table = found.get("verifiers", {})
    unknown = sorted(set(table) - set(_KNOWN))
    if unknown or "env_id" not in table:
        wrong = (
            f"verifiers.{unknown[0]} is not known" if unknown else "+verifiers.env_id is missing"
        )
        sys.exit(f"{wrong}; known are {', '.join(_KNOWN)}")
    sampling = table.get("sampling_args") or {}
    for name, value in sampling.items():
        if name not in _SAMPLING:
            sys.exit(f"verifiers.sampling_args.{name} is not known; give verl its own key for it")
        verl.append(f"actor_rollout_ref.rollout.{name}={value}")
    return Words(
        str(table["env_id"]), table.get("env_args") or {}, table.get("max_samples"), tuple(verl)
    )


def verl_words(data: Path) -> list[str]:
    """What makes verl ask prime, with the files in `data`."""
    rows = data / "train.parquet"
    agent = "actor_rollout_ref.rollout.agent"
    return [
        f"data.train_files={rows}",
        f"data.val_files={rows}",
        f"{agent}.agent_loop_config_path={data / 'agent.yaml'}",
        f"{agent}.default_agent_loop=prime",
        "actor_rollout_ref.rollout.calculate_log_probs=True",
    ]


@contextmanager
def served(words: Words) -> Iterator[None]:
    """The rollout service, whose variables are set in this process while the context is open."""
    prime = shutil.which("prime")
    if prime is None:
        sys.exit("prime is not on PATH")
    process = subprocess.Popen([prime, *words.serve], stdout=subprocess.PIPE, encoding="utf-8")
    try:
        for line in process.stdout or ():
            name, _, value = line.strip().removeprefix("export ").partition("=")
            os.environ[name] = value.strip("'")
            if name == "PRIME_ROLLOUTS_TOKEN":
                break
        else:
            sys.exit(process.wait() or 1)
        yield
    finally:
        process.terminate()
        process.wait()


def main(words: Sequence[str], trainer: str = TRAINER) -> int:
    """Serve the environment, and train on it; returns the exit code of verl's `trainer`."""
    settings = sorted_words(words)
    with served(settings), tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        subprocess.run([sys.executable, "-m", f"{__package__}.verl", str(data)], check=True)
        command = [sys.executable, "-m", trainer, *verl_words(data), *settings.verl]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
