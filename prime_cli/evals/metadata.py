"""metadata.json: the keys that the official `eval push` and `vf-tui` read."""

from typing import Any

import msgspec

from prime_cli.evals.plan import EvalPlan
from prime_cli.evals.summary import Summary


def official_metadata(plan: EvalPlan, summary: Summary) -> dict[str, Any]:
    """What verifiers 0.1.14 writes beside results.jsonl, plus `prime` with what it does not know.

    `env_id` is `owner/name` for an environment of a hub (the official client 0.18 pushes no
    other), else the bare name. Metrics are there twice: `avg_metrics` is of 0.1.14,
    `avg_<metric>` of the releases before and of `eval push`.
    """
    scores = {name: metric.mean for name, metric in summary.metrics.items()}
    return {
        "env_id": plan.environment.slug,
        "env_args": plan.env_args,
        "model": plan.model,
        "base_url": plan.endpoint,
        "num_examples": summary.num_examples,
        "rollouts_per_example": plan.rollouts_per_example,
        "sampling_args": plan.sampling,
        "date": summary.date,
        "time": summary.seconds,
        "time_ms": (summary.seconds or 0.0) * 1000,
        "avg_reward": summary.reward.mean,
        **{f"avg_{name}": mean for name, mean in scores.items()},
        "avg_metrics": scores,
        "avg_error": summary.error_rate,
        "usage": _mean_usage(summary),
        "version_info": {
            "vf_version": summary.environment.verifiers,
            "env_version": summary.environment.version,
        },
        "state_columns": list(plan.state_columns),
        "framework": "verifiers",
        "run_id": summary.run_id,
        "prime": {
            "usage": summary.usage,
            "cost": summary.cost,
            "asked_again": msgspec.to_builtins(summary.asked_again),
        },
    }


def _mean_usage(summary: Summary) -> dict[str, float] | None:
    """Tokens per finished rollout, as 0.1.14 has them."""
    finished = summary.counts.scored + summary.counts.errored
    if not finished:
        return None
    names = {"input_tokens": "input", "output_tokens": "output"}
    return {name: summary.usage.get(ours, 0) / finished for name, ours in names.items()}
