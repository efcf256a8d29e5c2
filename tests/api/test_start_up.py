"""What the client costs to import."""

import subprocess
import sys


def test_the_client_loads_neither_a_terminal_library_nor_the_hub() -> None:
    heavy = ["rich", "click", "pygments", "starlette", "sqlalchemy", "typer", "keyring"]
    code = (
        "import sys, prime_cli.api.client; import httpx; httpx.Client; "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == "[]"
