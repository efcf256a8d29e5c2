"""A folder that stands for an installed checkout of prime-rl.

Its launcher merges files as prime-rl does, refuses sections that are not prime-rl's, and writes
what the processes of a training write; it needs no GPU and trains nothing.
"""

import sys
from pathlib import Path

from tests.helpers.venvs import make_venv

_RL = """#!{python}
import json, sys, tomllib
from pathlib import Path

KNOWN = set("max_steps seq_len output_dir run model deployment ckpt monitors orchestrator trainer "
            "inference resume weight_broadcast slurm".split())

def merged(base, over):
    both = {{n: merged(base[n], v) if isinstance(v, dict) and isinstance(base.get(n), dict) else v
            for n, v in over.items()}}
    return {{**base, **both}}

words, config = sys.argv[1:], {{}}
while words and words[0] == "@":
    config = merged(config, tomllib.loads(Path(words[1]).read_text()))
    words = words[2:]
wrong = sorted(set(config) - KNOWN)
deployment = config.get("deployment", {{}})
if deployment.get("type") == "multi_node":
    wrong += [f"deployment.{{name}}" for name in deployment if name.endswith("_gpus")]
if wrong:
    sys.exit("\\n".join(f"--{{name}}  Extra inputs are not permitted" for name in wrong))
folder = Path(config["output_dir"], config["run"]["name"])
folder.mkdir(parents=True, exist_ok=True)
Path(folder, "seen.json").write_text(json.dumps({{"config": config, "words": words}}))
if "--dry-run" not in words:
    with open(folder / "metrics.jsonl", "a") as file:
        for step in range(config["max_steps"]):
            reward = {{"train/agg/effective/reward/mean": step / 10, "progress/tokens": 5}}
            for told in (reward, {{"loss/mean": 0.5, "optim/lr": 1e-6}}):
                file.write(json.dumps({{"step": step, "time": 1.0, **told}}) + "\\n")
    if config["model"]["name"] == "fails":
        sys.exit("CUDA error: out of memory")
"""


def fake_checkout(folder: Path) -> Path:
    """Make one in `folder`."""
    folder.mkdir()
    text = '[project]\nname = "prime-rl"\nversion = "0.8.0"\nrequires-python = ">=3.10"\n'
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    launcher = make_venv(folder / ".venv") / "bin" / "rl"
    launcher.write_text(_RL.format(python=sys.executable), encoding="utf-8")
    launcher.chmod(0o755)
    return folder
