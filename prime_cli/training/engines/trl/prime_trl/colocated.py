"""Sampling by vLLM in the trainer's own process, on the trainer's GPU: TRL's "colocate" mode.

TRL makes the engine and copies the weights into it. The calls are ours, so that each has its own
length, temperature and seed, and a new one need not wait until those before it are answered.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from vllm import SamplingParams
from vllm.sampling_params import RequestOutputKind

from .sampling import Answer, TooLong, Wanted


class ColocatedVllm:
    """The `Sampler` of a trainer with `use_vllm`: requests are batched as they come."""

    def __init__(self, trainer: Any, ends: list[int]) -> None:
        self._trainer, self._vllm, self._ends = trainer, trainer.vllm_generation, ends
        self._engine = self._vllm.llm.llm_engine
        self._copied: int | None = None
        self.synced = 0.0

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Copy the weights into vLLM if they have changed; afterwards its memory is free again,
        where it can sleep.
        """
        vllm, step = self._vllm, self._trainer.state.global_step
        if vllm._llm_weights_sleeping or self._copied != step:  # noqa: SLF001
            began = time.perf_counter()
            self._copy_weights()
            self.synced += time.perf_counter() - began
            self._copied = step
        if vllm.enable_sleep_mode:
            vllm.llm.wake_up(tags=["kv_cache"])
        try:
            yield
        finally:
            if vllm.enable_sleep_mode:
                vllm.llm.sleep(level=2)
                vllm._llm_weights_sleeping = True  # noqa: SLF001

    def _copy_weights(self) -> None:
        """Give vLLM the weights, with adapters merged into them."""
        vllm = self._vllm
        if torch.cuda.is_available():
            vllm.sync_weights()
            return
        # For a CPU vLLM packs them, so that they cannot be overwritten one by one.
        weights = vllm._iter_named_params()  # noqa: SLF001
        vllm.llm.collective_rpc("reload_weights", kwargs={"weights_iterator": weights})
        head = self._engine.model_executor.driver_worker.model_runner.model.lm_head
        head.quant_method.process_weights_after_loading(head)  # left out where it is tied
        vllm.llm.reset_prefix_cache()

    def take(self, number: int, wanted: Wanted) -> None:
        """Give vLLM the call; raises TooLong."""
        params = SamplingParams(
            temperature=wanted.temperature,
            max_tokens=wanted.most,
            seed=wanted.seed_number,
            logprobs=0,  # of the sampled token alone
            detokenize=bool(wanted.stop),
            stop=list(wanted.stop),
            stop_token_ids=self._ends,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        room = self._engine.model_config.max_model_len
        if len(wanted.ids) >= room:
            raise TooLong(f"The prompt has {len(wanted.ids)} tokens; the context has {room}")
        self._engine.add_request(str(number), {"prompt_token_ids": wanted.ids}, params)

    def work(self) -> list[tuple[int, Answer]]:
        """One step of vLLM: a token for each of its running requests."""
        outputs = self._engine.step()
        return [(int(each.request_id), _answer(each.outputs[0])) for each in outputs]

    def drop(self, numbers: Iterable[int]) -> None:
        """Abort requests."""
        self._engine.abort_request([str(number) for number in numbers])


def _answer(found: Any) -> Answer:
    ids = list(found.token_ids)
    told = zip(ids, found.logprobs, strict=True)
    stop = found.stop_reason if isinstance(found.stop_reason, str) else None
    return Answer(ids, [each[token].logprob for token, each in told], found.finish_reason, stop)
