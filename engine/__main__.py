"""`python -m engine`, and `brokerlab`."""

import sys

# Where hypothesis is installed, kio imports it, for strategies that no command uses. This would add
# a third to the time that a broker needs to start, and 20 MB.
sys.modules["hypothesis"] = None  # type: ignore[assignment]

from engine.cli.main import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
