"""What is not loaded in tests: a plugin, named before nbval, which would load it (-p tests.lean).

jsonschema, by which notebooks are read, checks international addresses with a grammar that takes
seconds to build, in each process. No notebook has such an address, and without the package
jsonschema leaves this check out.
"""

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
