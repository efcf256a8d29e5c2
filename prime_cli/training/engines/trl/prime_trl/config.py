"""What prime asks of the engine: engine.json."""

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Config:
    """engine.json; `batch` counts prompts a step, `group` rollouts of each.

    They are divided among the `processes` of each of the `nodes`. `gpus` are the names of those
    that the driver lists. `vllm` samples instead of transformers. With `data` the rows in the
    training's folder are learned, of which `batch` are in a step. `resume` is a checkpoint's
    folder, `best` the step of one that is kept. `options` are fields of GRPOConfig, from `--set`.
    """

    model: str
    steps: int
    group: int
    batch: int
    lr: float
    max_tokens: int
    temperature: float
    seed: int
    save_every: int
    keep: int = 2
    eval_every: int = 0
    evaluate: bool = True
    probe: bool = True
    lora: int = 0
    lora_alpha: int | None = None
    lora_targets: tuple[str, ...] = ()
    refill: int = 0
    processes: int = 1
    nodes: int = 1
    gpus: list[str] = field(default_factory=list)
    vllm: bool = False
    lr_schedule: str = "constant"
    warmup: int = 0
    best: int | None = None
    push_to_hub: str | None = None
    report: str | None = None
    resume: str | None = None
    data: str | None = None
    trust_remote_code: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def schedule(self) -> str:
        """The schedule by transformers' name, whose `constant` has no warm-up."""
        warms_up = self.lr_schedule == "constant" and self.warmup
        return "constant_with_warmup" if warms_up else self.lr_schedule

    @property
    def rows(self) -> int:
        """Rollouts a step, of each process."""
        return self.group * self.batch // self.world

    @property
    def world(self) -> int:
        """How many processes train, on all nodes together."""
        return self.processes * self.nodes


def read_config(path: str) -> Config:
    """The config in a file, without keys of a later prime."""
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    known = {each.name for each in fields(Config)}
    return Config(**{name: value for name, value in found.items() if name in known})
