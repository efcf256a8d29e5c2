"""Which models answered a run, by what their endpoints said of themselves."""

from collections.abc import Iterable, Mapping

import msgspec

from prime_cli.models.gateway.calls import POLICY
from prime_cli.models.gateway.ledger import ServedBy


class ServedModel(msgspec.Struct, frozen=True, kw_only=True):
    """Answers of one model: for which role and name it was asked, and what it named itself.

    `model` and `system_fingerprint` are null where the endpoint said none.
    """

    role: str = POLICY
    requested: str
    model: str | None = None
    system_fingerprint: str | None = None
    calls: int = 0


def served_models(
    before: Iterable[ServedModel], counted: Mapping[ServedBy, int]
) -> tuple[ServedModel, ...]:
    """`before` and what was counted since, the same ones added up; the most frequent first."""
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
    """`gpt-4.1-mini-2025-04-14 in 300 calls`, where another model than the one asked for answered.

    Also where several systems did, which a change of the fingerprint tells.
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
        words += [f"{_name(each)} in {each.calls:,} calls{who}" for each in named]
    return words


def _name(served: ServedModel) -> str:
    mark = f" ({served.system_fingerprint})" if served.system_fingerprint else ""
    return f"{served.model}{mark}"
