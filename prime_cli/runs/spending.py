"""What a run spent: as it is written down, and summed up again from what was written."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prime_cli.models.prices import PICO, ChargeKey, Charges, Spend, Usage, add_charges
from prime_cli.runs.manifest import Manifest
from prime_cli.runs.rows import Row, SpentBy

POLICY = "policy"

_ALWAYS = ("calls", "input", "output")
_OPTIONAL = ("cached", "reasoning", "uncounted", "estimated", "hits")


def counts_of(spend: Spend) -> dict[str, Any]:
    """Spend as it is written: tokens by name, zeros that are optional left out.

    `cost` is in USD; null where `unpriced` calls have no known price, and `known_cost` is then
    the part that is known.
    """
    usage = spend.usage
    counts: dict[str, Any] = {name: getattr(usage, name) for name in _ALWAYS}
    counts |= {name: count for name in _OPTIONAL if (count := getattr(usage, name))}
    counts["cost"] = spend.usd
    if spend.unpriced:
        counts["unpriced"] = spend.unpriced
        counts["known_cost"] = spend.known_usd
    return counts


def spend_of(counts: Mapping[str, Any]) -> Spend:
    """The Spend that `counts` tells of; without a `cost` (written before) none is known."""
    usage = Usage(**{name: int(counts.get(name) or 0) for name in (*_ALWAYS, *_OPTIONAL)})
    unpriced = counts.get("unpriced", 0 if counts.get("cost") is not None else usage.calls)
    known = counts.get("cost") or counts.get("known_cost") or 0.0
    return Spend(usage, round(known * PICO), unpriced)


def write_charges(charges: Charges) -> SpentBy:
    """Charges as a file has them: by role, then model."""
    written: SpentBy = {}
    for payer, spend in charges.items():
        written.setdefault(payer.role, {})[payer.model] = counts_of(spend)
    return written


def read_charges(written: SpentBy) -> Charges:
    """What `write_charges` wrote."""
    return {
        ChargeKey(role, model): spend_of(counts)
        for role, models in written.items()
        for model, counts in models.items()
    }


class Spending:
    """Running sums of what a run used, over its sessions; `model` is that of its policy."""

    def __init__(self, model: str, charges: Charges | None = None) -> None:
        self._model = model
        self._charges: Charges = {}
        self.add(charges or {})

    def add(self, charges: Charges) -> None:
        """Count `charges`."""
        add_charges(self._charges, charges)

    def add_row(self, row: Row) -> None:
        """Count a line of the journal, whatever became of its rollout later."""
        if row.usage is not None and (row.usage.get("calls") or row.usage.get("hits")):
            self.add({ChargeKey(POLICY, self._model): spend_of(row.usage)})
        for written in (row.judges, row.apart):
            if written:
                self.add(read_charges(written))

    @property
    def total(self) -> Spend:
        """All of it."""
        return sum_of(self._charges.values())

    def by_role(self) -> dict[str, Spend]:
        """The sums by role."""
        return self._by(lambda payer: payer.role)

    def by_model(self) -> dict[str, Spend]:
        """The sums by model."""
        return self._by(lambda payer: payer.model)

    def charges(self) -> Charges:
        """The sums by role and model."""
        return dict(self._charges)

    def record(self) -> dict[str, Any]:
        """The `usage` of run.json: the total; by role and model too where that tells more."""
        counts = counts_of(self.total)
        roles, models = self.by_role(), self.by_model()
        if set(roles) - {POLICY}:
            counts["roles"] = {role: counts_of(spend) for role, spend in roles.items()}
        if len(models) > 1:
            counts["models"] = {model: counts_of(spend) for model, spend in models.items()}
        return counts

    def _by(self, key: Callable[[ChargeKey], str]) -> dict[str, Spend]:
        found: dict[str, Spend] = {}
        for payer, spend in self._charges.items():
            name = key(payer)
            found[name] = found[name] + spend if name in found else spend
        return found


def spending_before(manifest: Manifest) -> Spending:
    """What a run spent that is in no line of its journal; the lines are to be added."""
    return Spending(manifest.plan.model, read_charges(manifest.unjournaled))


def without(charges: Charges, less: Charges) -> Charges:
    """`charges` less those of `less`, which are a part of them."""
    rest = {payer: spend - less.get(payer, Spend()) for payer, spend in charges.items()}
    return {payer: spend for payer, spend in rest.items() if spend != Spend()}


def sum_of(spends: Iterable[Spend]) -> Spend:
    """The sum of `spends`."""
    return sum(spends, Spend())
