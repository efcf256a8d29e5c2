"""Samples of evaluations on the wire, each passed on as the JSON that it came as.

JSON has neither NaN nor infinity (RFC 8259, section 6), so a batch with one is refused.
"""

import msgspec

from prime_cli.wire.evaluations import RUNNING


class SampleBatch(msgspec.Struct):
    """`POST /evaluations/{id}/samples`: JSON objects."""

    samples: list[msgspec.Raw]


class BatchReceipt(msgspec.Struct):
    """How many samples the batch held."""

    evaluation_id: str = ""
    samples_pushed: int = 0
    status: str = RUNNING


class SamplePage(msgspec.Struct):
    """`GET /evaluations/{id}/samples`; official clients read either name of `has_more`."""

    evaluation_id: str
    samples: list[msgspec.Raw]
    total: int = 0
    page: int = 1
    limit: int = 100
    total_pages: int = 0
    has_more: bool = False
    hasMore: bool = False  # noqa: N815 - the wire has both
