"""What a shell completes."""

from prime_cli.core.completion_cache import Kind
from prime_cli.core.paths import prime_home


def completed_names(kind: Kind) -> list[str]:
    """The names in the file that a completion script reads."""
    file = prime_home() / "completion" / kind
    return file.read_text(encoding="ascii").splitlines() if file.exists() else []
