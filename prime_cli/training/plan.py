"""What rollouts for training need beyond the plan of an evaluation."""

from dataclasses import replace
from typing import Any

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.runs.plan import EvalPlan

TRAIN = "train"
TEMPERATURE = 1.0
"""That of samples from the policy itself, which most trainers assume."""


def require_token_ids(request: EvalRequest) -> None:
    """Raise UsageError for models that are known to return no token ids."""
    if request.model is not None and request.model.startswith("builtin/"):
        raise UsageError(
            f"`{request.model}` returns no token ids",
            hint="name a model of your own server: `-m NAME -b http://localhost:8000/v1`",
        )


def for_training(prepared: PreparedRun) -> PreparedRun:
    """The same on training data, at the temperature of training, unless others were asked for."""
    plan = prepared.plan
    changes: dict[str, Any] = {"sampling": {"temperature": TEMPERATURE} | plan.sampling}
    # v1 has no splits: there a taskset's own arguments choose the data.
    if plan.option("split") is None and prepared.subject.package.facts.exposes != "v1":
        changes["options"] = _options(plan) | {"split": TRAIN}
    return replace(prepared, plan=msgspec.structs.replace(plan, **changes))


def _options(plan: EvalPlan) -> dict[str, Any]:
    return {} if isinstance(plan.options, msgspec.UnsetType) else plan.options
