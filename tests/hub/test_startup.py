"""What a command that reads the embedded hub has to import."""

import subprocess
import sys
from pathlib import Path

from tests.helpers.database import sqlite_only

SCRIPT = """
import sys
from pathlib import Path
from tests.hub.pushing import names, open_app
assert names(open_app(Path(sys.argv[1]))) == []
heavy = ("alembic", "sqlalchemy.orm", "sqlalchemy.ext.asyncio", "uvicorn")
heavy += ("sqlalchemy.dialects.postgresql", "markdown_it", "cryptography", "obstore", "granian")
print([name for name in heavy if name in sys.modules])
"""


@sqlite_only
def test_reading_the_embedded_hub_imports_nothing_heavy(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    argv = [sys.executable, "-c", SCRIPT, str(tmp_path / "hub")]
    done = subprocess.run(
        argv, cwd=root, capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "[]"
