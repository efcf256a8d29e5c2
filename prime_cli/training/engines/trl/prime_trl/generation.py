"""Sampling by transformers: one `generate` for calls that wait together, each with its own dice.

What a call gets depends on its prompt, its seed and the weights alone, not on what it happened to
be batched with; so a training that is resumed goes on as if it had never been stopped.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

from .sampling import LENGTH, STOP, Answer, Wanted


class Generating:
    """The `Sampler` of the model that is trained: it answers all calls that wait, then others."""

    def __init__(self, model: Callable[[], Any], pad: int, ends: Sequence[int]) -> None:
        """`model` gives the one whose weights are current; any token of `ends` ends an answer."""
        self._model, self._pad, self._ends = model, pad, list(ends)
        self._waiting: dict[int, Wanted] = {}
        self.synced = 0.0  # they answer themselves

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Switch off what a model does only while it is trained."""
        model = self._model()
        was_training = model.training
        model.eval()
        try:
            yield
        finally:
            model.train(was_training)

    def take(self, number: int, wanted: Wanted) -> None:
        """Keep the call for the next batch."""
        self._waiting[number] = wanted

    def work(self) -> list[tuple[int, Answer]]:
        """Answer those that wait, in the order of their seeds."""
        chosen = sorted(self._waiting, key=lambda number: self._waiting[number].seed)
        wanted = [self._waiting.pop(number) for number in chosen]
        answers = generate(self._model(), wanted, pad=self._pad, ends=self._ends)
        return list(zip(chosen, answers, strict=True))

    def drop(self, numbers: Iterable[int]) -> None:
        """Forget calls."""
        for number in numbers:
            self._waiting.pop(number, None)


class _Draws(LogitsProcessor):  # type: ignore[misc]
    """Chooses each row's token by the row's own generator, and keeps its log-probability.

    `generate` then takes the only token that is left. So no step's logits are kept.
    """

    def __init__(self, wanted: list[Wanted]) -> None:
        self.logprobs: list[torch.Tensor] = []
        self._heat = torch.tensor([[each.temperature or 1.0] for each in wanted])
        self._greedy = torch.tensor([each.temperature == 0 for each in wanted])
        self._dice = [torch.Generator().manual_seed(each.seed_number) for each in wanted]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        heat, greedy = self._heat.to(scores.device), self._greedy.to(scores.device)
        logprobs = (scores.float() / heat).log_softmax(-1)
        sums = logprobs.double().exp().cumsum(-1)
        thrown = torch.stack(
            [torch.rand(1, generator=one, dtype=torch.double) for one in self._dice]
        )
        # Below the last sum, which rounding keeps from being 1.
        marks = thrown.to(scores.device) * sums[:, -1:]
        drawn = torch.searchsorted(sums, marks, right=True).clamp(max=scores.shape[-1] - 1)
        chosen = torch.where(greedy[:, None], logprobs.argmax(-1, keepdim=True), drawn)
        self.logprobs.append(logprobs.gather(-1, chosen))
        return torch.full_like(scores, float("-inf")).scatter(-1, chosen, 0.0)


@torch.no_grad()  # type: ignore[untyped-decorator]
def generate(model: Any, wanted: list[Wanted], *, pad: int, ends: list[int]) -> list[Answer]:
    """Answer all of them at once."""
    device = next(model.parameters()).device
    width = max(len(each.ids) for each in wanted)
    ids = torch.tensor([[pad] * (width - len(each.ids)) + each.ids for each in wanted])
    mask = torch.tensor([[0] * (width - len(each.ids)) + [1] * len(each.ids) for each in wanted])
    draws = _Draws(wanted)
    with _no_defaults(model):
        found = model.generate(
            input_ids=ids.to(device),
            attention_mask=mask.to(device),
            max_new_tokens=max(each.most for each in wanted),
            do_sample=False,
            logits_processor=LogitsProcessorList([draws]),
            pad_token_id=pad,
            eos_token_id=ends,
            disable_compile=True,
        )
    tokens = found[:, width:].tolist()
    logprobs = torch.cat(draws.logprobs, dim=-1).tolist()
    return [
        _cut(row, found_logprobs, each.most, ends)
        for row, found_logprobs, each in zip(tokens, logprobs, wanted, strict=True)
    ]


@contextmanager
def _no_defaults(model: Any) -> Iterator[None]:
    """Without the model's generation_config.json: a repetition penalty, as Qwen2.5 has, would
    change the probabilities.
    """
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    own, inner.generation_config = inner.generation_config, GenerationConfig()
    try:
        yield
    finally:
        inner.generation_config = own


def _cut(tokens: list[int], logprobs: list[float], most: int, ends: list[int]) -> Answer:
    tokens, ended = tokens[:most], LENGTH
    place = next((place for place, token in enumerate(tokens) if token in ends), None)
    if place is not None:
        tokens, ended = tokens[: place + 1], STOP
    return Answer(tokens, logprobs[: len(tokens)], ended)
