"""Sampling by transformers: one `generate` for calls that wait together, each with its own dice.

What a call gets depends on its prompt, its seed and the weights alone, not on what it happened to
be batched with; so a training that is resumed goes on as if it had never been stopped.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    StoppingCriteria,
    StoppingCriteriaList,
)

from .sampling import LENGTH, STOP, Answer, Wanted


class Generating:
    """The `Sampler` of the model that is trained: it answers all calls that wait, then others."""

    def __init__(self, model: Callable[[], Any], tokenizer: Any, ends: Sequence[int]) -> None:
        """`model` gives the one whose weights are current; any token of `ends` ends an answer."""
        self._model, self._tokenizer, self._ends = model, tokenizer, list(ends)
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
        answers = generate(self._model(), wanted, self._tokenizer, self._ends)
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
def generate(model: Any, wanted: list[Wanted], tokenizer: Any, ends: list[int]) -> list[Answer]:
    """Answer all of them at once."""
    device, pad = next(model.parameters()).device, tokenizer.pad_token_id
    width = max(len(each.ids) for each in wanted)
    ids = torch.tensor([[pad] * (width - len(each.ids)) + each.ids for each in wanted])
    mask = torch.tensor([[0] * (width - len(each.ids)) + [1] * len(each.ids) for each in wanted])
    draws, stops = _Draws(wanted), _Stops(wanted, width, tokenizer)
    with _no_defaults(model):
        found = model.generate(
            input_ids=ids.to(device),
            attention_mask=mask.to(device),
            max_new_tokens=max(each.most for each in wanted),
            do_sample=False,
            logits_processor=LogitsProcessorList([draws]),
            stopping_criteria=StoppingCriteriaList([stops]) if stops.any else None,
            pad_token_id=pad,
            eos_token_id=ends,
            disable_compile=True,
        )
    tokens = found[:, width:].tolist()
    logprobs = torch.cat(draws.logprobs, dim=-1).tolist()
    return [
        _cut(row, found_logprobs, each, ends, stops)
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


class _Stops(StoppingCriteria):  # type: ignore[misc]
    """Ends the rows whose text holds one of the texts that their calls stop at."""

    def __init__(self, wanted: list[Wanted], width: int, tokenizer: Any) -> None:
        self.any = any(each.stop for each in wanted)
        self._stops, self._width, self._tokenizer = [each.stop for each in wanted], width, tokenizer

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        rows = input_ids[:, self._width :].tolist()
        found = [self.find(row, stop) for row, stop in zip(rows, self._stops, strict=True)]
        return torch.tensor([each is not None for each in found], device=input_ids.device)

    def find(self, ids: list[int], stops: tuple[str, ...]) -> str | None:
        """The first of `stops` in the text of `ids`."""
        text = self._tokenizer.decode(ids, skip_special_tokens=True) if stops else ""
        return min((stop for stop in stops if stop in text), key=text.index, default=None)


def _cut(
    tokens: list[int], logprobs: list[float], wanted: Wanted, ends: list[int], stops: _Stops
) -> Answer:
    tokens, ended = tokens[: wanted.most], LENGTH
    place = next((place for place, token in enumerate(tokens) if token in ends), None)
    if place is not None:
        tokens, ended = tokens[: place + 1], STOP
    stop = stops.find(tokens, wanted.stop)
    if stop is not None:
        count = next(n for n in range(1, len(tokens) + 1) if stops.find(tokens[:n], (stop,)))
        tokens, ended = tokens[:count], STOP
    return Answer(tokens, logprobs[: len(tokens)], ended, stop)
