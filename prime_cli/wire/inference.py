"""`/models` in OpenAI's form with prices, and what users have spent on models."""

from typing import Annotated

import msgspec

from prime_cli.wire.queries import Param


class ModelPricing(msgspec.Struct, frozen=True):
    """USD per million tokens, as official clients read it."""

    input_usd_per_mtok: float
    output_usd_per_mtok: float


class ModelItem(msgspec.Struct, frozen=True):
    """One model; `id` is what calls name."""

    id: str
    object: str = "model"
    created: int = 0
    owned_by: str = "hub"
    pricing: ModelPricing | None = None


class ModelList(msgspec.Struct, frozen=True):
    """`GET /models`."""

    data: list[ModelItem]
    object: str = "list"


class ModelUsage(msgspec.Struct, frozen=True):
    """What one owner spent on one model in a month (`2026-11`, UTC).

    `cost_usd` is of the calls whose price is known; `unpriced_calls` are the others.
    """

    owner: str
    month: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced_calls: int


class UsageList(msgspec.Struct, frozen=True):
    """`GET /hub/usage`, by owner and model."""

    usage: list[ModelUsage]


class UsageQuery(msgspec.Struct, frozen=True):
    """Of which month (`2026-11`, UTC; default: this one) and owner."""

    month: Annotated[str | None, Param("Of this month, such as `2026-11`")] = None
    owner: Annotated[str | None, Param("Of this user or team")] = None
