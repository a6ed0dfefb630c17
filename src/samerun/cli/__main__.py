"""`python -m samerun.cli`, for where the `samerun` script is not on the path."""

import sys

from samerun.cli.main import main

sys.exit(main())
