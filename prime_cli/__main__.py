"""`python -m prime_cli` runs the same program as `prime`."""

import sys

from prime_cli.main import main

sys.exit(main())
