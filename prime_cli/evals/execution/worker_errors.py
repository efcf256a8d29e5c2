"""A worker's last word as the failure that a user is told."""

import re

from prime_cli.core.errors import Conflict, EnvironmentFailed, LoadFailed, PrimeError
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runtime.protocol import End, EndError

_LINES = 20
_NEEDED = re.compile(r"needs ((?:`\w+`(?:, )?)+)")
_NETWORK_HINT = (
    "the sandbox has no network: if it downloads data, run it once with `--allow-net`, "
    "what it keeps is there the next time"
)
_GATEWAY_HINT = (
    "`--only-gateway` leaves it no network: if it downloads data, run it once without, as with "
    "`-m builtin/oracle -n 1`, what it keeps is there the next time"
)
_HARNESS_HINT = (
    "its packages are fetched once, by uv: run it once with a network, or choose another harness, "
    'as in `-x \'{"agent": {"harness": {"id": "null"}}}\'`'
)
_DATA_HINT = "where the environment shuffles without a seed, set one with `-a` and start a new run"
_DOING = {
    "import": "be imported",
    "load": "be loaded",
}


def failure_of(
    end: End,
    plan: EvalPlan,
    scrub: Scrubber,
    *,
    again: bool = False,
    asked: str | None = None,
) -> PrimeError | None:
    """What `end` stands for; None for a good end and for one that was asked for.

    `again` says that the run makes another one again, `asked` how to allow the variables that the
    environment asked for. `detail` is the end of the traceback.
    """
    if end.ok or end.stage == "interrupted":
        return None
    error = end.error or EndError(type="Error", message="no reason was given")
    first = scrub.text(error.message).strip().split("\n", maxsplit=1)[0]
    cause = f"{error.type}: {first}" if first else error.type
    name = plan.environment.name
    detail = last_lines(scrub.text(error.traceback or ""))
    if end.stage == "arguments":
        return LoadFailed(f"`{name}` cannot be loaded: {first}", hint=_arguments_hint(first))
    if end.stage == "harness":
        return LoadFailed(
            f"A harness of `{name}` cannot be started: {first}",
            hint=_HARNESS_HINT,
            detail=detail,
        )
    if end.stage in _DOING:
        sentence = f"`{name}` cannot {_DOING[end.stage]}: {cause}"
        return LoadFailed(sentence, hint=asked or _network_hint(plan), detail=detail)
    if end.stage == "data":
        earlier = "that the run had" if again else "that this run began with"
        return Conflict(
            f"The data set is not the one {earlier}: {first}",
            hint="`--force` uses the current data" if again else _DATA_HINT,
        )
    return EnvironmentFailed(f"`{name}` stopped the run: {cause}", hint=asked, detail=detail)


def _network_hint(plan: EvalPlan) -> str | None:
    if plan.sandbox and not plan.allow_net:
        return _NETWORK_HINT
    return _GATEWAY_HINT if plan.only_gateway else None


def _arguments_hint(message: str) -> str | None:
    needed = _NEEDED.search(message)
    if needed is None:
        return None
    names = needed[1].replace("`", "").split(", ")
    example = ", ".join(f'"{name}": …' for name in names)
    return f"give them as JSON: `-a '{{{example}}}'`"


def last_lines(text: str) -> str | None:
    """The end of a traceback; None where there is none."""
    return "\n".join(text.strip().splitlines()[-_LINES:]) or None
