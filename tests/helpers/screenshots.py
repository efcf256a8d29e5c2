"""Where tests keep screenshots of pages: ignored by git, and part of what CI keeps."""

import os
from pathlib import Path

SCREENSHOTS = Path(
    os.environ.get("PRIME_TEST_SCREENSHOTS") or Path(__file__).parents[2] / "build" / "screenshots"
)
"""Read at the import, since each test is given an environment without the variable."""
