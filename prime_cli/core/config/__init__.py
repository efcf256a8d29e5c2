"""What prime is set to, and where each value came from: flag, variable, config.toml, default."""

from prime_cli.core.config.checks import STARTER_OWNER
from prime_cli.core.config.contexts import (
    LOCAL,
    PRIME,
    PRIME_API_URL,
    PRIME_WEB_URL,
    Context,
)
from prime_cli.core.config.load import Config, load_config
from prime_cli.core.config.settings import DEFAULT, Setting

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
