"""Count what each rollout used, by role and model."""

from collections import Counter
from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import (
    POLICY,
    Answer,
    Call,
    CallFailed,
    CallIdentity,
    Handler,
    Reply,
    read_answer,
)
from prime_cli.models.gateway.repair import clean_text, strict_json, whole_characters
from prime_cli.models.gateway.streams import LATE, count_stream
from prime_cli.models.prices import (
    FREE,
    Budget,
    ChargeKey,
    Charges,
    Price,
    Spend,
    TokenUsage,
    add_charges,
)

PriceOf = Callable[[Endpoint], Price | None]
"""The price of an endpoint's model; None if unknown."""

OTHER = "other"
"""The role of the policy client's calls to a model other than the run's."""

NONSENSE = "nonsense_answer"
"""The code of an answer without a completion."""

_CHOICES = ("chat/completions", "completions")
COUNTED = (*_CHOICES, "responses", "embeddings")
"""The paths whose answers report usage."""

_UNCOUNTED = TokenUsage(calls=1, uncounted=1)

_HIT = Spend(TokenUsage(hits=1))

_MOST_OPEN = 10_000
"""Rollouts that can have calls and no row yet: far more than run at a time. Calls that come in
after their rollout's row was written would pile up otherwise."""


_MOST_SERVED = 64
"""Models told apart: an endpoint may name a different one in each answer."""
_LONGEST_NAME = 200


class ServedBy(NamedTuple):
    """Who answered a role's calls for a model: the names given by the endpoint."""

    role: str
    requested: str
    model: str | None
    system_fingerprint: str | None


def price_builtin(endpoint: Endpoint) -> Price | None:
    """Only the built-in models have a price: nothing."""
    return FREE if endpoint.builtin else None


class Ledger:
    """The step that reads answers: counts their usage and rejects invalid ones.

    What a rollout used is held until `settle` takes it; only sums are kept. `own` are the names of
    the run's model: calls to it count under the first. `served` counts who answered.
    """

    def __init__(
        self,
        own: Collection[str | None] = (),
        *,
        price_of: PriceOf = price_builtin,
        budget: Budget | None = None,
    ) -> None:
        self._own = frozenset(own)
        self._name = next((name for name in own if name), "")
        self._price_of = price_of
        self.budget = budget
        self._open: dict[tuple[int, int], dict[int, Charges]] = {}
        self._apart: Charges = {}
        self._totals: Charges = {}
        self.served: Counter[ServedBy] = Counter()

    def used_by(self, example: int, rollout: int, attempt: int, role: str | None) -> TokenUsage:
        """The unsettled usage of an attempt in one role, or in all roles together."""
        charges = self._open.get((example, rollout), {}).get(attempt, {})
        mine = (
            spend.usage for payer, spend in charges.items() if role is None or payer.role == role
        )
        return sum(mine, TokenUsage())

    @property
    def open(self) -> Collection[tuple[int, int]]:
        """The rollouts with unsettled usage."""
        return self._open.keys()

    def settle(self, example: int, rollout: int) -> Charges:
        """Take what all attempts at a rollout used since it was last settled."""
        charges: Charges = {}
        for attempt in self._open.pop((example, rollout), {}).values():
            add_charges(charges, attempt)
        return charges

    def settle_apart(self) -> Charges:
        """Take what calls outside any rollout used since the last time."""
        charges, self._apart = self._apart, {}
        return charges

    def totals(self) -> Charges:
        """What the whole run used so far, settled or not."""
        return dict(self._totals)

    def by_role(self) -> dict[str, TokenUsage]:
        """What the whole run used so far, by role."""
        roles: dict[str, TokenUsage] = {}
        for payer, spend in self._totals.items():
            roles[payer.role] = roles.get(payer.role, TokenUsage()) + spend.usage
        return roles

    def total(self) -> TokenUsage:
        """What the whole run used so far."""
        return self.spent().usage

    def spent(self) -> Spend:
        """The same with its price."""
        return sum(self._totals.values(), Spend())

    def add(self, identity: CallIdentity, model: str | None, spend: Spend) -> None:
        """Count one call."""
        if self.budget is not None:
            self.budget.count(spend)
        charge = {self._payer(identity, model): spend}
        add_charges(self._totals, charge)
        example, rollout, attempt, _ = identity
        if example is None or rollout is None or attempt is None:
            add_charges(self._apart, charge)
            return
        attempts = self._open.setdefault((example, rollout), {})
        add_charges(attempts.setdefault(attempt, {}), charge)
        if len(self._open) > _MOST_OPEN:
            add_charges(self._apart, self.settle(*next(iter(self._open))))

    def _payer(self, identity: CallIdentity, model: str | None) -> ChargeKey:
        own = not model or model in self._own
        role = OTHER if identity.role == POLICY and not own else identity.role
        return ChargeKey(role, self._name if own else model or "")

    def add_hit(self, identity: CallIdentity, model: str | None) -> None:
        """Count one call that the cache answered."""
        self.add(identity, model, _HIT)

    async def read_answers(self, call: Call, handler: Handler) -> Reply:
        """Count the call; raises CallFailed for a 200 without a completion."""
        try:
            reply = await handler(call)
        except CallFailed as failure:
            if failure.code == LATE:  # it was sent, and may be billed
                self.add(call.identity, call.head.model, Spend.of(_UNCOUNTED, None))
            raise
        if call.method != "POST" or reply.status != HTTPStatus.OK or call.path not in COUNTED:
            return reply
        if reply.chunks is not None:
            reply.chunks = count_stream(
                whole_characters(reply.chunks), lambda answer: self._count(call, answer, reply)
            )
            return reply
        reply.body, fault = _repaired(reply.body)
        answer = read_answer(reply.body)
        has_choices = answer is not None and isinstance(answer.choices, list) and answer.choices
        useless = call.path in _CHOICES and not has_choices
        self._count(call, answer, reply, useless=useless)
        if useless:
            raise _nonsense(call, reply.body, fault or "it has no `choices`")
        return reply

    def _count(
        self, call: Call, answer: Answer | None, reply: Reply, *, useless: bool = False
    ) -> None:
        told = None if answer is None else answer.any_usage
        if told is None:
            usage = _UNCOUNTED
            if self.budget is not None and not useless:
                self.budget.stop(f"The endpoint of `{call.head.model}` does not report usage")
        else:
            usage = told.to_usage(estimated=reply.estimated)
        self._note_served(call, answer, reply)
        price = None if reply.endpoint is None else self._price_of(reply.endpoint)
        self.add(call.identity, call.head.model, Spend.of(usage, price))

    def _note_served(self, call: Call, answer: Answer | None, reply: Reply) -> None:
        endpoint = reply.endpoint
        if endpoint is None or endpoint.builtin or answer is None:
            return
        model = (answer.any_model or "")[:_LONGEST_NAME] or None
        fingerprint = (answer.fingerprint or "")[:_LONGEST_NAME] or None
        role = self._payer(call.identity, call.head.model).role
        served = ServedBy(role, endpoint.model, model, fingerprint)
        if len(self.served) >= _MOST_SERVED and served not in self.served:
            served = ServedBy(role, endpoint.model, "others", None)
        self.served[served] += 1


def _repaired(body: bytes) -> tuple[bytes, str | None]:
    """An answer that strict readers take, and what is wrong with it if it cannot be made one."""
    body = clean_text(body)
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except msgspec.MsgspecError as strict:
        try:
            return strict_json(body), None
        except (ValueError, RecursionError):
            return body, str(strict)
    except RecursionError:
        return body, "it is nested too deeply"
    return body, None


def _nonsense(call: Call, body: bytes, fault: str) -> CallFailed:
    shown = body[:80].decode("utf-8", "replace")
    return CallFailed(
        f"The endpoint of `{call.head.model}` answered 200 without a completion ({fault}): "
        f"{shown!r}",
        status=502,
        blame="infra",  # nothing of it is the model's
        code=NONSENSE,
        retryable=True,
    )
