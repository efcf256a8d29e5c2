"""Tokens and truncation, from the answers that a v0 state keeps."""

from typing import Any


def usage_of(state: Any) -> dict[str, int] | None:
    """{"input", "output"} summed over the answers of the model, or None where none counted."""
    counts = [c for c in map(_tokens, responses_of(state)) if c is not None]
    if not counts:
        return None
    return {"input": sum(c[0] for c in counts), "output": sum(c[1] for c in counts)}


def was_truncated(state: Any) -> bool:
    """Whether a limit cut an answer short: verifiers says so from 0.1.9 on, else the answers."""
    if state.get("is_truncated") is not None:
        return bool(state["is_truncated"])
    return any(_finish_reason(response) == "length" for response in responses_of(state))


def responses_of(state: Any) -> list[Any]:
    """The model's answers: kept in `responses` up to 0.1.7, in the trajectory later."""
    steps = state.get("trajectory")
    if steps:
        return [step.get("response") for step in steps if step.get("response") is not None]
    return list(state.get("responses") or [])


def _tokens(response: Any) -> tuple[int, int] | None:
    usage = getattr(response, "usage", None)
    asked = getattr(usage, "prompt_tokens", None)
    said = getattr(usage, "completion_tokens", None)
    return None if asked is None and said is None else (asked or 0, said or 0)


def _finish_reason(response: Any) -> str | None:
    choices = getattr(response, "choices", None)
    return getattr(choices[0], "finish_reason", None) if choices else None
