"""The gradient of GRPO's loss types by their formulas, for programs in TRL's interpreter.

Rewards are compared within a group (arXiv:2402.03300). DAPO (arXiv:2503.14476) divides the sum over
sampled tokens by all of a step, and so does BNPO with all rows at once; GRPO means over the tokens
of a rollout, in all its segments, and then over rollouts.
"""

from typing import Any

import torch
from transformers import TrainerCallback


def advantages(rewards: list[float | None], group: int) -> list[float]:
    """Of each rollout: its reward less the mean of its group, by the deviation of the sample."""
    found = []
    for start in range(0, len(rewards), group):
        own = rewards[start : start + group]
        scored = torch.tensor([each for each in own if each is not None])
        spread = scored.std() + 1e-4
        found += [0.0 if each is None else float((each - scored.mean()) / spread) for each in own]
    return found


def log_probabilities(model: Any, ids: list[int], temperature: float) -> torch.Tensor:
    """Of every token at every place, from one forward pass without padding."""
    logits = model(input_ids=torch.tensor([ids])).logits[0].double()
    return (logits / temperature).log_softmax(-1)


def loss_of(
    model: Any, rollouts: list[dict[str, Any]], kind: str, group: int, temperature: float
) -> tuple[torch.Tensor, float]:
    """The loss, and the sampled tokens of a rollout: each segment goes through the model alone."""
    sums, counts = [], []
    for rollout in rollouts:
        total, count = torch.zeros(()), 0
        for one in rollout["segments"]:
            chances = log_probabilities(model, one["ids"], temperature)
            for start, end, *_ in one["spans"]:
                for place in range(start, end):
                    total = total + chances[place - 1, one["ids"][place]]
                count += end - start if rollout["reward"] is not None else 0
        sums.append(total)
        counts.append(count)
    length = sum(counts) / len(counts)
    own = advantages([each["reward"] for each in rollouts], group)
    each = [-one * total for one, total in zip(own, sums, strict=True)]
    if kind == "grpo":
        means = [one / max(count, 1) for one, count in zip(each, counts, strict=True)]
        return torch.stack(means).mean(), length
    return torch.stack(each).sum() / sum(counts), length


class Keeping(TrainerCallback):
    """Keeps the gradients of a step."""

    def on_pre_optimizer_step(
        self, args: Any, state: Any, control: Any, model: Any, **_: Any
    ) -> None:
        self.gradients = [each.grad.clone() for each in model.parameters()]

    def distance(self, wanted: list[torch.Tensor]) -> tuple[float, float]:
        """From the gradients that are wanted, relative to their size; and this size."""
        pairs = zip(self.gradients, wanted, strict=True)
        off = sum(((one - other) ** 2).sum() for one, other in pairs).sqrt()
        size = sum((each**2).sum() for each in wanted).sqrt()
        return (off / size).item(), size.item()
