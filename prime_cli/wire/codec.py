"""Wire structs to JSON bytes and back; unknown fields are ignored, missing ones are named."""

from typing import Any, TypeVar

import msgspec

from prime_cli.core.errors import UsageError

T = TypeVar("T")


def encode(value: Any) -> bytes:
    """JSON bytes of a wire struct or plain value."""
    return msgspec.json.encode(value)


def decode(content: bytes, kind: type[T]) -> T:
    """A `kind` from JSON bytes; raises UsageError that names the field that is wrong."""
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise UsageError(f"The JSON is not a {kind.__name__}: {error}") from error


def to_builtins(value: Any) -> Any:
    """Dicts, lists and scalars of a wire struct, as the standard json module takes them."""
    return msgspec.to_builtins(value)
