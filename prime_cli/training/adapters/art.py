"""ART: rollouts of `prime rollouts serve` as trajectory groups. Tried with openpipe-art 0.5.23.

    import art
    from prime_adapters.art import examples, rollout_group

    await model.register(backend)
    for step in range(await model.get_step(), 100):
        chosen = random.sample(examples(), 8)
        asked = (rollout_group(model, each, 8) for each in chosen)
        await backend.train(model, await art.gather_trajectory_groups(asked))

The environment calls the endpoint that ART serves the model at. Its tokens become choices with
token ids and log-probabilities, of which ART makes rows without tokenizing anything again.
"""

from collections.abc import Iterator
from typing import Any

import art
from art.trajectories import LegacyHistory
from openai.types.chat.chat_completion import Choice

from .service import JSON, RefusedError, RolloutService


def examples(service: RolloutService | None = None) -> list[int]:
    """The numbers of the service's examples."""
    return (service or RolloutService()).examples()


async def rollout_group(
    model: Any, example: int, size: int, service: RolloutService | None = None
) -> art.TrajectoryGroup:
    """`size` rollouts of an example by a registered model, scored together.

    Those that fail are the group's exceptions; raises RefusedError if all do.
    """
    if model.inference_base_url is None:
        raise RefusedError("the model has no endpoint yet: call model.register(backend) first")
    policy = {
        "url": model.inference_base_url,
        "model": model.get_inference_name(),
        "version": await model.get_step(),
        "api_key": model.inference_api_key,
    }
    found = await (service or RolloutService()).ask(example, size, policy=policy, messages=True)
    good = [each for each in found if each["error"] is None and each["segments"]]
    failures = [RefusedError(_failure(each)) for each in found if each not in good]
    if not good:
        raise failures[0]
    return art.TrajectoryGroup([_trajectory(each) for each in good], exceptions=failures)


def _failure(rollout: JSON) -> str:
    error = rollout["error"] or {"type": "NoCalls", "message": "the rollout called no model"}
    return f"{error['type']}: {error['message']}"


def _trajectory(rollout: JSON) -> art.Trajectory:
    """One history for each segment: ART splits where a prompt does not continue the tokens."""
    said = _said(rollout)
    first, *others = [
        [_choice(segment, span, said) for span in segment["spans"]]
        for segment in rollout["segments"]
    ]
    versions = [span[2] for segment in rollout["segments"] for span in segment["spans"]]
    return art.Trajectory(
        messages_and_choices=first,
        additional_histories=[LegacyHistory(messages_and_choices=each) for each in others],
        reward=rollout["reward"],
        initial_policy_version=min(versions),
        final_policy_version=max(versions),
        metrics={name: value for name, value in rollout["metrics"].items() if _is_number(value)},
        metadata={"example": rollout["example"], "rollout": rollout["rollout"]},
    )


def _said(rollout: JSON) -> Iterator[str]:
    """What the policy wrote, turn by turn, for people who read ART's logs."""
    for message in rollout["messages"] or ():
        if message.get("role") == "assistant":
            yield str(message.get("content") or "")


def _choice(segment: JSON, span: list[Any], said: Iterator[str]) -> Choice:
    start, end, _, finish_reason = span
    ids, logprobs = segment["ids"], segment["logprobs"][start:end]
    content = [
        {"token": f"token_id:{token}", "logprob": logprob, "bytes": None, "top_logprobs": []}
        for token, logprob in zip(ids[start:end], logprobs, strict=True)
    ]
    return Choice.model_validate(
        {
            "index": 0,
            "finish_reason": finish_reason or "stop",
            "message": {"role": "assistant", "content": next(said, "")},
            "logprobs": {"content": content},
            "prompt_token_ids": ids[:start],
            "token_ids": ids[start:end],
        }
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)
