"""What rows hold, made safe to write: Unicode that can be encoded, JSON that can be read."""

import json
import math
from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder()


def well_formed(text: str) -> str:
    """`text` with each lone surrogate, which UTF-8 cannot hold, as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def as_json(value: Any) -> bytes:
    """`value` (builtins or msgspec Structs) as JSON on one line; what JSON has not is null."""
    try:
        return _ENCODER.encode(value)
    except (UnicodeEncodeError, OverflowError):
        # A folder of vf-eval may hold lone surrogates and integers of any size.
        sound = _sound(msgspec.to_builtins(value))
        return json.dumps(sound, ensure_ascii=False, separators=(",", ":")).encode()


def as_text(value: Any) -> str:
    """A string as it is, anything else as its JSON, null as nothing."""
    if value is None:
        return ""
    return well_formed(value) if isinstance(value, str) else as_json(value).decode()


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {well_formed(str(name)): _sound(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_sound(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
