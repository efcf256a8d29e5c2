"""A worker's last word as the failure that a user is told."""

import re

from prime_cli.core.errors import Conflict, EnvironmentFailed, LoadFailed, PrimeError
from prime_cli.evals.plan import EvalPlan
from prime_cli.evals.scrub import Scrubber
from prime_cli.runtime.protocol import End, EndError

_LINES = 20
_NEEDED = re.compile(r"needs ((?:`\w+`(?:, )?)+)")
_NETWORK_HINT = (
    "the sandbox has no network: if it downloads data, run it once with `--allow-net`, "
    "what it keeps is there the next time"
)
_DATA_HINT = (
    "where the environment shuffles without a seed, give it one with `-a` and begin a new run"
)
_DOING = {
    "import": "be imported",
    "load": "be loaded",
}


def failure_of(
    end: End, plan: EvalPlan, scrub: Scrubber, *, again: bool = False
) -> PrimeError | None:
    """What `end` stands for; None for a good end and for one that was asked for.

    `again` says that the run makes another one again. `detail` is the end of the traceback.
    """
    if end.ok or end.stage == "interrupted":
        return None
    error = end.error or EndError(type="Error", message="no reason was given")
    first = scrub.text(error.message).strip().split("\n", maxsplit=1)[0]
    cause = f"{error.type}: {first}" if first else error.type
    name = plan.environment.name
    detail = _last_lines(scrub.text(error.traceback or ""))
    if end.stage == "arguments":
        return LoadFailed(f"`{name}` cannot be loaded: {first}", hint=_arguments_hint(first))
    if end.stage in _DOING:
        sentence = f"`{name}` cannot {_DOING[end.stage]}: {cause}"
        closed = plan.sandbox and not plan.allow_net
        return LoadFailed(sentence, hint=_NETWORK_HINT if closed else None, detail=detail)
    if end.stage == "data":
        earlier = "that the run had" if again else "that this run began with"
        return Conflict(
            f"The data set is not the one {earlier}: {first}",
            hint="`--force` takes the data of today" if again else _DATA_HINT,
        )
    return EnvironmentFailed(f"`{name}` stopped the run: {cause}", detail=detail)


def _arguments_hint(message: str) -> str | None:
    needed = _NEEDED.search(message)
    if needed is None:
        return None
    names = needed[1].replace("`", "").split(", ")
    example = ", ".join(f'"{name}": …' for name in names)
    return f"give them as JSON: `-a '{{{example}}}'`"


def _last_lines(text: str) -> str | None:
    return "\n".join(text.strip().splitlines()[-_LINES:]) or None
