"""How JupyterLab starts on Binder: as `make lab` has it, but showing the whole repository.

postBuild links to this file from where the image's JupyterLab looks for its configuration.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]  # the link leads back here

load_subconfig(str(ROOT / "labs/.jupyter/jupyter_lab_config.py"))  # noqa: F821 - Jupyter's own
c = get_config()  # noqa: F821 - and this one
c.ServerApp.root_dir = str(ROOT)  # the engine is there to be read
c.LabApp.default_url = "/lab/tree/labs/00_start.ipynb"  # where to begin
c.NotebookNotary.data_dir = str(ROOT / "build/jupyter")  # which notebooks postBuild has trusted
