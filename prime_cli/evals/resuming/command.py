"""The words that make a run go on."""

from prime_cli.evals.plan import EvalPlan


def resume_command(run_id: str, plan: EvalPlan) -> str:
    """What to type in the folder where the run was started.

    Values of headers are not kept, since they may be secrets: they have to be given again.
    """
    headers = "".join(f" --header '{name}: …'" for name in plan.headers)
    return f"prime eval run --resume {run_id}{headers}"
