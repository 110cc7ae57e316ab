"""`python -m engine`: the same as `brokerlab`."""

import sys

from engine.cli.main import main

sys.exit(main())
