"""What a run spent, and on which models: how it is written, and summed from there."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from prime_cli.core.formatting import pluralize
from prime_cli.models.gateway.calls import POLICY
from prime_cli.models.gateway.ledger import ServedBy
from prime_cli.models.prices import PICO, ChargeKey, Charges, Spend, TokenUsage, add_charges
from prime_cli.runs.rows import Row, SpentBy

_ALWAYS = ("calls", "input", "output")
_OPTIONAL = ("cached", "reasoning", "uncounted", "estimated", "hits")


def counts_of(spend: Spend) -> dict[str, Any]:
    """Spend as written: tokens by name, without optional zeros.

    `cost` is in USD; null if `unpriced` calls have no known price, and `known_cost` is then the
    known part.
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
    """The Spend in `counts`; without a `cost` (written before) none is known."""
    usage = TokenUsage(**{name: int(counts.get(name) or 0) for name in (*_ALWAYS, *_OPTIONAL)})
    unpriced = counts.get("unpriced", 0 if counts.get("cost") is not None else usage.calls)
    known = counts.get("cost") or counts.get("known_cost") or 0.0
    return Spend(usage, round(known * PICO), unpriced)


def write_charges(charges: Charges) -> SpentBy:
    """Charges as written to a file: by role, then model."""
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
    """Running sums of a run's usage, over its sessions; `model` is that of its policy."""

    def __init__(self, model: str, charges: Charges | None = None) -> None:
        self._model = model
        self._charges: Charges = {}
        self.add(charges or {})

    def add(self, charges: Charges) -> None:
        """Count `charges`."""
        add_charges(self._charges, charges)

    def add_row(self, row: Row) -> None:
        """Count a line of the journal, even if its rollout was replaced later."""
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
        """The `usage` of run.json: the total; by role and model too if that adds anything."""
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


def without(charges: Charges, less: Charges) -> Charges:
    """`charges` less those of `less`, which are part of them."""
    rest = {payer: spend - less.get(payer, Spend()) for payer, spend in charges.items()}
    return {payer: spend for payer, spend in rest.items() if spend != Spend()}


def sum_of(spends: Iterable[Spend]) -> Spend:
    """The sum of `spends`."""
    return sum(spends, Spend())


class ServedModel(msgspec.Struct, frozen=True, kw_only=True):
    """Answers of one model: the role and name it was asked under, and the name it returned.

    `model` and `system_fingerprint` are null if the endpoint gave none.
    """

    role: str = POLICY
    requested: str
    model: str | None = None
    system_fingerprint: str | None = None
    calls: int = 0


def served_models(
    before: Iterable[ServedModel], counted: Mapping[ServedBy, int]
) -> tuple[ServedModel, ...]:
    """`before` plus what was counted since, equal ones merged; most frequent first."""
    calls: dict[ServedBy, int] = {}
    for each in before:
        key = ServedBy(each.role, each.requested, each.model, each.system_fingerprint)
        calls[key] = calls.get(key, 0) + each.calls
    for key, count in counted.items():
        calls[key] = calls.get(key, 0) + count
    ordered = sorted(calls.items(), key=lambda item: (item[0].role != POLICY, -item[1]))
    return tuple(
        ServedModel(
            role=key.role,
            requested=key.requested,
            model=key.model,
            system_fingerprint=key.system_fingerprint,
            calls=count,
        )
        for key, count in ordered
    )


def served_words(served: Iterable[ServedModel]) -> list[str]:
    """`gpt-4.1-mini-2025-04-14 in 300 calls`, if another model than the requested one answered.

    Also if several systems did, as a change of the fingerprint shows.
    """
    groups: dict[tuple[str, str], list[ServedModel]] = {}
    for each in served:
        groups.setdefault((each.role, each.requested), []).append(each)
    words = []
    for (role, requested), group in groups.items():
        named = [each for each in group if each.model is not None]
        if [each.model for each in named] in ([], [requested]):
            continue
        who = "" if role == POLICY else f" for {role}"
        words += [f"{_name(each)} in {pluralize(each.calls, 'call')}{who}" for each in named]
    return words


def _name(served: ServedModel) -> str:
    mark = f" ({served.system_fingerprint})" if served.system_fingerprint else ""
    return f"{served.model}{mark}"
