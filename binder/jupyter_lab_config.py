"""How JupyterLab starts on Binder: as `make lab` has it, with notebooks that are trusted, and with
clusters that have no ZooKeeper where a lab can do without, and so no JVM.

postBuild links to this file from where the image's JupyterLab looks for its configuration.
"""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]  # the link leads back here

os.environ.setdefault("BROKERLAB_METADATA", "kraft")
load_subconfig(str(ROOT / "labs/.jupyter/jupyter_lab_config.py"))  # noqa: F821 - Jupyter's own
c = get_config()  # noqa: F821 - and this one
c.NotebookNotary.data_dir = str(ROOT / "build/jupyter")  # which notebooks postBuild has trusted
