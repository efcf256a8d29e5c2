"""verl: rollouts of `prime rollouts serve` as an agent loop. Tried with verl 0.9.1.

    python -m prime_adapters.verl data/          # writes train.parquet and agent.yaml
    python -m verl.trainer.main_ppo \\
        data.train_files=data/train.parquet data.val_files=data/train.parquet \\
        actor_rollout_ref.rollout.agent.agent_loop_config_path=data/agent.yaml \\
        actor_rollout_ref.rollout.agent.default_agent_loop=prime \\
        actor_rollout_ref.rollout.calculate_log_probs=True …

verl takes one row for each rollout. Of a rollout with several segments one is drawn, each with the
same chance, so that every turn is trained on.
"""

import random
import sys
from pathlib import Path
from typing import Any

from verl.experimental.agent_loop.agent_loop import (
    AgentLoopBase,
    AgentLoopMetrics,
    AgentLoopOutput,
    register,
)
from verl.experimental.agent_loop.tool_parser import ToolParser

from .continuation import Conversations
from .service import JSON, PolicyServer, RefusedError, RolloutService, Sampled, length_of, row_of

TRIES = 3
"""How often a rollout that ended in an error is asked for: verl has no row without a reward."""

_policies: PolicyServer | None = None


@register("prime")
class PrimeAgentLoop(AgentLoopBase):  # type: ignore[misc]
    """One rollout: the environment calls verl's own servers, and the reward is its own."""

    async def run(self, sampling_params: JSON, **row: Any) -> AgentLoopOutput:
        """The rollout of `row`, whose `extra_info` has the number of an example."""
        policy = _Policy(self, sampling_params)
        rollout = await _rollout(int(row["extra_info"]["example"]), policy)
        drawn = row_of(random.choice(rollout["segments"]))  # noqa: S311 - no secret
        if len(drawn.prompt) > self.rollout_config.prompt_length:
            raise ValueError(
                f"A prompt has {len(drawn.prompt)} tokens: raise data.max_prompt_length"
            )
        most = self.rollout_config.response_length
        return AgentLoopOutput(
            prompt_ids=drawn.prompt,
            response_ids=drawn.response[:most],
            response_mask=drawn.mask[:most],
            response_logprobs=drawn.logprobs[:most],
            reward_score=rollout["reward"],
            num_turns=policy.calls,
            metrics=AgentLoopMetrics(generate_sequences=rollout["timing"].get("generation", 0.0)),
            extra_fields={"turn_scores": [], "tool_rewards": []},
        )


class _Policy:
    """Answers the calls of one rollout by verl's servers."""

    def __init__(self, loop: Any, sampling: JSON) -> None:
        self._loop = loop
        self._sampling = sampling
        self._conversations = Conversations(loop.tokenizer, **loop.apply_chat_template_kwargs)
        self.calls = 0

    async def __call__(self, request: JSON) -> Sampled:
        loop, messages, tools = self._loop, request["messages"], request.get("tools")
        self.calls += 1
        prompt = self._conversations.prompt(messages, tools, "")
        most = length_of(request, loop.rollout_config.response_length)
        output = await loop.server_manager.generate(
            request_id=f"{id(self)}",
            prompt_ids=prompt,
            sampling_params={**self._sampling, "max_tokens": most},
        )
        if output.log_probs is None or len(output.log_probs) != len(output.token_ids):
            raise ValueError(
                "verl's server returned no log-probabilities: set "
                "actor_rollout_ref.rollout.calculate_log_probs=True"
            )
        ids = list(output.token_ids)
        message = await self._message(ids, tools)
        self._conversations.remember(messages, message, "", (prompt, ids), tools=tools)
        ended = "stop" if ids and ids[-1] == loop.tokenizer.eos_token_id else "length"
        return Sampled(prompt, ids, list(output.log_probs), message, ended)

    async def _message(self, ids: list[int], tools: Any) -> JSON:
        tokenizer = self._loop.tokenizer
        if not tools:
            return {"content": tokenizer.decode(ids, skip_special_tokens=True)}
        parser = ToolParser.get_tool_parser(self._loop.rollout_config.multi_turn.format, tokenizer)
        content, calls = await parser.extract_tool_calls(ids)
        if not calls:
            return {"content": tokenizer.decode(ids, skip_special_tokens=True)}
        calls = [
            {
                "id": f"call_{self.calls}_{number}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for number, call in enumerate(calls)
        ]
        return {"content": content, "tool_calls": calls}


async def _rollout(example: int, policy: _Policy) -> JSON:
    """A rollout with a reward and tokens; raises RefusedError if none can be had."""
    service = RolloutService()
    failure = "it called no model"
    for _ in range(TRIES):
        with _server().serving(policy) as where:
            (found,) = await service.ask(example, policy=where)
        if found["error"] is None and found["segments"]:
            return found
        failure = (found["error"] or {}).get("message", failure)
    raise RefusedError(f"example {example} failed {TRIES} times: {failure}")


def _server() -> PolicyServer:
    """One for this process."""
    global _policies  # noqa: PLW0603 - verl makes an agent loop for each rollout
    if _policies is None:
        _policies = PolicyServer()
    return _policies


def write_data(folder: Path) -> None:
    """Write train.parquet, a row for each example of the service, and agent.yaml."""
    import pyarrow as pa
    from pyarrow import parquet

    service = RolloutService()
    if service.environment()["unit"] == "group":
        raise RefusedError("this environment scores a group together; verl asks for one by one")
    rows = [
        {
            "data_source": "prime",
            "agent_name": "prime",
            # The environment has its own prompt; verl only wants one to be there.
            "prompt": [{"role": "user", "content": f"example {number}"}],
            "reward_model": {"style": "rule", "ground_truth": ""},
            "extra_info": {"index": number, "example": number},
        }
        for number in service.examples()
    ]
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(rows), folder / "train.parquet")
    target = f"{__package__}.verl.PrimeAgentLoop"
    (folder / "agent.yaml").write_bytes(f"- name: prime\n  _target_: {target}\n".encode())


if __name__ == "__main__":
    write_data(Path(sys.argv[1]))
