"""`python -I .../worker/__main__.py EVENTS CONTROL`: descriptors to write to and to read from."""

import importlib
import importlib.util
import os
import sys
from typing import Any

PACKAGE = "_prime_worker"


def load_package() -> Any:
    folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    spec = importlib.util.spec_from_file_location(
        PACKAGE,
        os.path.join(folder, "__init__.py"),  # noqa: PTH118
        submodule_search_locations=[folder],
    )
    assert spec is not None and spec.loader is not None  # noqa: PT018, S101 - the file is ours
    sys.modules[PACKAGE] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return importlib.import_module(f"{PACKAGE}.session")


# A process that an environment spawns imports this file again, under another name.
if __name__ == "__main__":
    load_package().main(int(sys.argv[1]), int(sys.argv[2]))
