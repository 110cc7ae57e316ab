"""What the kernel in a browser tab does when it starts: it takes the guide along.

The wheel puts this file where IPython looks for its settings (lite/wheels.py). The packages and the
modules beside the notebooks are imported from wheels. The kernel's folder is the browser's storage.
Nothing is imported from there: each look at it is a message to another thread of the browser.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path
from sysconfig import get_path

STORAGE = "/drive"
PROGRESS = f"{STORAGE}/labs/yours/progress.json"

sys.path[:] = [folder for folder in sys.path if folder and not folder.startswith(STORAGE)]
sys.path.append(str(Path(get_path("purelib"), "labs")))

# The kernel has put an empty module in place of Python's own. Log directories are locked with it.
with suppress(KeyError):
    del sys.modules["fcntl"]

os.environ["BROKERLAB_PROGRESS"] = PROGRESS

c = get_config()  # type: ignore[name-defined]  # noqa: F821 - IPython puts it here
c.InteractiveShellApp.ignore_cwd = True
c.InteractiveShellApp.extensions.append("widgets.notebook.guide")
