"""Settings of whose code may run here: `trust` and `require_signature`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prime_cli.core.config.settings import DEFAULT, Setting
from prime_cli.core.errors import UsageError

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})


def choose_trust(
    table: dict[str, Any], environ: Mapping[str, str], file: Path
) -> Setting[tuple[str, ...]]:
    """Owners trusted without a question: PRIME_TRUST=ada,hub.example/eve, else `trust = […]`."""
    if (text := environ.get("PRIME_TRUST")) is not None:
        words = tuple(word.strip() for word in text.split(",") if word.strip())
        return Setting("trust", words, "PRIME_TRUST")
    value = table.get("trust")
    if value is None:
        return Setting("trust", (), DEFAULT)
    if not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
        raise UsageError(f'trust in {file} must be a list of owners, as ["ada"]')
    return Setting("trust", tuple(value), str(file))


def choose_require_signature(
    table: dict[str, Any], environ: Mapping[str, str], file: Path
) -> Setting[bool]:
    """Whether only signed wheels are used: PRIME_REQUIRE_SIGNATURE, else `require_signature`."""
    name = "require_signature"
    if (word := environ.get("PRIME_REQUIRE_SIGNATURE")) is not None:
        if word.strip().lower() not in _TRUE | _FALSE:
            raise UsageError("PRIME_REQUIRE_SIGNATURE must be 1 or 0")
        return Setting(name, word.strip().lower() in _TRUE, "PRIME_REQUIRE_SIGNATURE")
    value = table.get(name)
    if value is None:
        return Setting(name=name, value=False, source=DEFAULT)
    if not isinstance(value, bool):
        raise UsageError(f"{name} in {file} must be true or false")
    return Setting(name, value, str(file))
