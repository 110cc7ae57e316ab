"""How JupyterLab starts on Binder: as `make lab` has it, with notebooks that are trusted.

postBuild links to this file from where the image's JupyterLab looks for its configuration.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]  # the link leads back here

load_subconfig(str(ROOT / "labs/.jupyter/jupyter_lab_config.py"))  # noqa: F821 - Jupyter's own
c = get_config()  # noqa: F821 - and this one
c.NotebookNotary.data_dir = str(ROOT / "build/jupyter")  # which notebooks postBuild has trusted
