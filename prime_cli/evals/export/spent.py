"""What a run used and cost, in words: for the head of a page and for a card."""

from collections.abc import Mapping
from typing import Any

from prime_cli.models.budget import format_cost
from prime_cli.runs.spending import POLICY, spend_of

_LABELS = {
    "calls": "Calls",
    "input": "Input tokens",
    "cached": "Cached tokens",
    "output": "Output tokens",
    "reasoning": "Reasoning tokens",
    "input_tokens": "Mean input tokens",
    "output_tokens": "Mean output tokens",
    "estimated": "Calls with estimated tokens",
    "uncounted": "Calls without counted tokens",
}
"""By the key in a summary's usage; `*_tokens` are vf-eval's, for one rollout."""


def spent_of(usage: Mapping[str, Any]) -> dict[str, str]:
    """Counts by label and, where it was kept, the cost: `unknown` rather than 0."""
    found = {
        label: f"{usage[key]:,.0f}"
        for key, label in _LABELS.items()
        if isinstance(usage.get(key), int | float) and usage[key]
    }
    return found | ({"Cost": format_cost(spend_of(usage))} if "cost" in usage else {})


def parts_of(usage: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """The same for each role but the policy's and each model of several: judges apart."""
    roles = {name: of for name, of in usage.get("roles", {}).items() if name != POLICY}
    return [(name, spent_of(of)) for name, of in [*roles.items(), *usage.get("models", {}).items()]]
