"""Are recorded log-probabilities those of the model that is trained?"""

from typing import Any

import torch

from .failures import Stopped
from .rows import TrainingRow

_FIRST_STEPS, _EVERY = 2, 50
_MOST_ROWS = 16


def is_due(step: int) -> bool:
    """Whether step number `step`, from 1, is one that is checked."""
    return step <= _FIRST_STEPS or step % _EVERY == 0


@torch.no_grad()  # type: ignore[untyped-decorator]
def logprob_gap(model: Any, rows: list[TrainingRow], temperature: float) -> float:
    """The mean difference in nats over the sampled tokens of some rows; raises Stopped."""
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    gaps: list[float] = []
    for row in rows[:_MOST_ROWS]:
        ids = torch.tensor([row.prompt + row.completion], device=device)
        logprobs = (model(ids).logits[0].float() / (temperature or 1.0)).log_softmax(-1)
        first = len(row.prompt) - 1
        for place, token in enumerate(row.completion):
            if row.mask[place]:
                gaps.append(abs(float(logprobs[first + place, token]) - row.logprobs[place]))
    model.train(was_training)
    gap = sum(gaps) / len(gaps) if gaps else 0.0
    dtype = next(model.parameters()).dtype
    require_close(gap, 0.1 if dtype == torch.float32 else 0.5)
    return gap


def require_close(gap: float, most: float = 0.1) -> None:
    """Raise Stopped for a mean difference of more than `most` nats."""
    if not gap <= most:  # nor is NaN
        raise Stopped(
            "engine_failed",
            f"The recorded log-probabilities are not those of the model: {gap:.3g} nats apart",
            "train a model whose server and trainer agree; `engine.log` has the details",
        )
