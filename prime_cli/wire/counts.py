"""How much of a resource may be requested: one rule for clients and hubs."""

from prime_cli.core.errors import UsageError
from prime_cli.wire.offers import Spec


def check_count(spec: Spec, count: int | None, name: str) -> None:
    """Raise UsageError about `name` unless an offer of a machine allows `count`.

    None and the default are always allowed; any other count must be within the bounds.
    """
    if count is None or count == spec.default_count:
        return
    if spec.min_count is None and spec.max_count is None:
        comes = "" if spec.default_count is None else f": it comes with {spec.default_count}"
        raise UsageError(f"`{name}` cannot be chosen for this offer{comes}", hint="omit it")
    check_bounds(spec, count, f"`{name}` of this offer is")


def check_bounds(spec: Spec, count: int, subject: str, unit: str = "") -> None:
    """Raise UsageError unless `count` is one of a spec's steps between its least and its most.

    The sentence begins with `subject` and its verb; `unit` is as ` GB`. Without a minimum a spec
    begins with its first step.
    """
    step = spec.step or 1
    least, most = spec.min_count or step, spec.max_count
    if count < least or (most is not None and count > most):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        raise UsageError(f"{subject} {bounds}{unit}, not {count}")
    beyond = (count - least) % step
    if beyond:
        raise UsageError(
            f"{subject} from {least}{unit} in steps of {step}{unit}, not {count}",
            hint=f"the nearest is {count - beyond}",
        )
