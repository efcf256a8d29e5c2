"""With what a run was made, as labelled texts: for the head of a page and for a card."""

from prime_cli.evals.export.texts import as_text
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.summary import Summary

ENDPOINT = "Endpoint"
"""An address, perhaps of a private network: in what is made for a file, not in what is pushed."""


def facts_of(saved: SavedRun, summary: Summary) -> dict[str, str]:
    """Versions, digests and settings that are known; never a key."""
    environment = summary.environment
    told: dict[str, str | None] = {
        "Environment version": environment.version,
        "Environment sha256": environment.sha256,
        "verifiers": environment.verifiers,
        "Harness": environment.harness,
    }
    if saved.manifest is not None:
        interpreter = saved.manifest.interpreter
        told["Python"] = interpreter.python if interpreter else None
        told |= _settings(saved.manifest.plan)
        told["Run by"] = f"prime {saved.manifest.prime}"
    else:
        official = saved.official or {}
        told["Sampling"] = _object(official.get("sampling_args"))
        told["Arguments"] = _object(official.get("env_args"))
        told["Run by"] = "vf-eval"
    return {label: text for label, text in told.items() if text}


def _settings(plan: EvalPlan) -> dict[str, str | None]:
    return {
        ENDPOINT: plan.endpoint,
        "Sampling": _object(plan.sampling),
        "Arguments": _object(plan.env_args),
    }


def _object(value: object) -> str | None:
    return as_text(value) if value else None
