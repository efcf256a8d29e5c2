"""What a run will cost, said before it starts."""

from pathlib import Path

from prime_cli.core.http import is_loopback
from prime_cli.evals.planning.estimate import Estimate, estimate
from prime_cli.evals.planning.prepare import Prepared
from prime_cli.evals.resume.candidates import scored_of
from prime_cli.models.budget import format_usd
from prime_cli.models.price_book import load_prices
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.spending import spend_of
from prime_cli.session import Session


def announce_cost(
    session: Session,
    prepared: Prepared,
    resumed: SavedRun | None,
    cwd: Path,
    *,
    verbose: bool,
    yes: bool = False,
) -> None:
    """Say the estimate; ask on a terminal where it is above `--max-cost`, unless `yes`.

    Built-in models cost nothing, and of servers on this machine nobody knows what they cost:
    those are told with the plan alone. Raises Declined when the user would rather not start.
    """
    endpoint = prepared.endpoint
    if endpoint.builtin or session.quiet:
        return
    price = (prepared.prices or load_prices()).price_of(endpoint)
    if price is None:
        if verbose or not is_loopback(endpoint.url):
            session.output.say(f"Cost: unknown, as nobody says what `{endpoint.model}` costs")
        return
    if price.source.startswith("stated by"):
        costs = f"{format_usd(price.input)} and {format_usd(price.output)}"
        session.output.say(f"A million tokens read and written are {costs}, {price.source}")
    done = 0 if resumed is None else scored_of(resumed)[0]
    expected = estimate(prepared.plan, price, cwd, done=done)
    session.output.say(f"Cost: {expected.words()}")
    _hold_to_cap(session, prepared, resumed, expected, yes=yes)


def _hold_to_cap(
    session: Session,
    prepared: Prepared,
    resumed: SavedRun | None,
    expected: Estimate,
    *,
    yes: bool,
) -> None:
    cap = prepared.plan.max_cost
    if cap is None or expected.cost is None:
        return
    spent = 0.0
    if resumed is not None and resumed.manifest is not None:
        spent = spend_of(resumed.manifest.usage).known_usd
    if spent + expected.cost <= cap:
        return
    told = f"that is more than is left of {format_usd(cap)}"
    if not session.output.is_interactive:
        session.output.hint(f"{told}: the run will stop there, and can go on with `--resume`")
    else:
        session.output.confirm(
            f"{told.capitalize()}. Start, and stop there?",
            yes=yes,
            otherwise="The run was not started",
            hint="give a higher `--max-cost`, or fewer examples: `-n`",
        )
