"""The `{"data": …}` envelope that most hub answers wear."""

from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class Envelope(msgspec.Struct, Generic[T]):
    """`{"data": …}`."""

    data: T
