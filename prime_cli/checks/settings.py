"""config.toml and what it comes to together with the variables."""

from prime_cli.checks.findings import Finding, failed, ok
from prime_cli.checks.place import Place


def examine(place: Place) -> list[Finding]:
    """Whether the settings can be read, and which hub they name."""
    if place.config is None:
        trouble = place.trouble
        sentence = trouble.message if trouble else "The settings cannot be read"
        return [failed("settings", sentence, (trouble and trouble.hint) or "correct config.toml")]
    context = place.config.context
    where = context.base_url or "the hub in this process"
    return [ok("settings", f"The context is `{context.name}` ({context.source}): {where}")]
