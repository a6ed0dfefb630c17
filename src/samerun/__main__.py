"""`python -m samerun` is `samerun`."""

from samerun.cli.main import main

raise SystemExit(main())
