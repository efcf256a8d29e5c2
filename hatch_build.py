"""The build hook: a wheel contains the manual page of every command; git does not."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_INSTALLED_IN = "share/man/man1"


class ManualPages(BuildHookInterface[Any]):
    """Renders the pages from the commands, and installs them where `man` looks for them."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the pages to the wheel; an editable installation goes without."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        subprocess.run(
            [sys.executable, "-B", "-m", "prime_cli.commands.tree", "--manuals", self._folder.name],
            cwd=self.root,
            env=os.environ | {"PRIME_HOME": str(Path(self._folder.name, "home"))},
            check=True,
        )
        build_data["shared_data"] |= {
            str(page): f"{_INSTALLED_IN}/{page.name}"
            for page in Path(self._folder.name).glob("*.1")
        }

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the rendered pages: the wheel has them now."""
        if version != "editable":
            self._folder.cleanup()
