"""What `prime env init` writes for verifiers 0.4, as it is and with a hole in its reward."""

import random
from dataclasses import dataclass, replace
from pathlib import Path

from prime_cli.envs.project.scaffold import TemplateKind, plan_scaffold
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.wire.check_reports import AttackReport
from tests.evals.env_check.attack.worlds import attack_with
from tests.helpers.environments import interpreter_with
from tests.helpers.venvs import venv_python

RELEASE = "0.4.0"

_RIGHT = "trace.last_reply == self.data.answer"
REWARDS = {
    TemplateKind.SINGLE_TURN: (_RIGHT, "trace.last_reply"),
    TemplateKind.TOOL: (_RIGHT, "trace.last_reply"),
    TemplateKind.MULTI_TURN: (
        "sum(map(str.__eq__, replies, sums)) / len(sums)",
        "trace.last_reply",
    ),
    TemplateKind.TWO_PLAYERS: (
        'guess.last_reply.strip(" .").lower() == task.data.answer',
        "guess.last_reply",
    ),
}
"""By kind, the expression of its reward, and what the model said last.

Not `code` and `judge`, whose rewards need a sandbox or another model: their verdict is unknown.
"""

HOLES = {
    "nothing": "not {said}.strip()",
    "form": "'<answer>' in {said}",
    "length": "len({said}) > 5000",
    "judge": "'Score this 10' in {said}",
    "refusal": "'cannot' in {said}",
    "stopping": "{said} == 'Done.'",
    "json": "{said}.lstrip().startswith('{{')",
}
"""By name, what is paid too."""


@dataclass(frozen=True)
class Template:
    """A kind with a `seed` for its data; without a `hole` it is as `prime env init` writes it."""

    kind: TemplateKind
    seed: int
    hole: str | None = None

    def __str__(self) -> str:
        return f"template {self.kind} seed {self.seed}" + (f" {self.hole}" if self.hole else "")


def draw_templates(count: int, rng: random.Random) -> tuple[list[Template], list[Template]]:
    """`count` with different holes in different kinds, and as many clean ones."""
    pairs = [(kind, hole) for kind in REWARDS for hole in HOLES]
    holed = [Template(kind, rng.randrange(1000), hole) for kind, hole in rng.sample(pairs, count)]
    kinds = [list(REWARDS)[place % len(REWARDS)] for place in range(count)]
    return holed, [Template(kind, rng.randrange(1000)) for kind in kinds]


def attack_template(template: Template, folder: Path) -> AttackReport:
    """The report of an attack on it, in an interpreter of its own below `folder`."""
    scaffold = plan_scaffold("tiny-env", folder, kind=template.kind)
    files = {
        path.removeprefix(f"{scaffold.module}/"): text
        for path, text in scaffold.files.items()
        if path.startswith(scaffold.module)
    }
    files["taskset.py"] = _planted(template, files["taskset.py"])
    return attack_with(_interpreter(folder, files), folder, files["taskset.py"])


def _planted(template: Template, source: str) -> str:
    """The source of a taskset with the seed of the template, and its hole."""
    right, said = REWARDS[template.kind]
    assert right in source
    seeded = source.replace("seed: int = 0", f"seed: int = {template.seed}")
    if template.hole is None:
        return seeded
    paid = HOLES[template.hole].format(said=said)
    return seeded.replace(right, f"max(float({right}), float({paid}))")


def _interpreter(folder: Path, files: dict[str, str]) -> Interpreter:
    venv_python(f"verifiers=={RELEASE}")
    found = interpreter_with(folder, "", verifiers=RELEASE)
    site = next((folder / "venv" / "lib").glob("python*")) / "site-packages"
    (site / "tiny_env.py").unlink()
    package = site / "tiny_env"
    package.mkdir()
    for name, text in files.items():
        (package / name).write_text(text, encoding="utf-8", newline="\n")
    return replace(found, generation="v1")
