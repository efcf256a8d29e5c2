"""What prime is set to, and where each value came from: flag, variable, config.toml, default."""

from prime_cli.core.config.contexts import (
    DEFAULT,
    LOCAL,
    PRIME,
    PRIME_API_URL,
    PRIME_WEB_URL,
    Context,
    Setting,
)
from prime_cli.core.config.load import Config, load_config
from prime_cli.core.config.parsers import STARTER_OWNER

__all__ = [
    "DEFAULT",
    "LOCAL",
    "PRIME",
    "PRIME_API_URL",
    "PRIME_WEB_URL",
    "STARTER_OWNER",
    "Config",
    "Context",
    "Setting",
    "load_config",
]
