"""The client of an environments hub, over a socket or in process; the only importer of httpx."""

import sys

# Where click, rich and pygments are installed, httpx imports its own command line with them: 46 ms
# of every command. With None here that import fails, which httpx is prepared for.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
