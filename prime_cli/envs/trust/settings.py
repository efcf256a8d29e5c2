"""The gate that the user's settings and this folder's prime.lock make."""

from pathlib import Path

from prime_cli.core.config import Config
from prime_cli.envs.locking.pins import pinned_hash
from prime_cli.envs.trust.gate import Ask, Gate, nobody


def gate_from(
    config: Config,
    here: Path,
    *,
    ask: Ask = nobody,
    yes: bool = False,
    require_signature: bool = False,
) -> Gate:
    """What decides about strangers for those who work in the folder `here`.

    `ask` reaches a person, where there is one; `require_signature` adds to the setting.
    """
    return Gate(
        home=config.home.value,
        named=frozenset(config.trust.value),
        ask=ask,
        yes=yes,
        pins=lambda ref: pinned_hash(ref, here),
        require_signature=require_signature or config.require_signature.value,
    )
