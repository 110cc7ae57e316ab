"""How `make lab`, Binder and the browser tests start JupyterLab: on the repository, so that a lab
can link to docs/ and engine/; quietly, on loopback only."""

import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from contents import LabContentsManager  # noqa: E402 - it stands beside this file
from idle_workers import end_them_with_the_server  # noqa: E402 - so does this

# Which tabs and sidebars are open. At first there is only the notebook: the file browser is folded.
WORKSPACES = ROOT / "build" / "jupyter" / "workspaces"
if not WORKSPACES.exists():
    shutil.copytree(HERE / "workspaces", WORKSPACES)

UNLISTED = {
    *(
        "answers",
        "articles",
        "controller",
        "delivery",
        "handout",
        "kraft",
        "rebalance",
        "recorded",
        "replication",
    ),
    *("operations", "speed", "storage", "streams"),
    *("claims.json", "conftest.py", "lab.py", "path.json", "points.py", "start.py", "yours"),
}

c = get_config()  # noqa: F821 - JupyterLab puts it here
c.ServerApp.root_dir = str(ROOT)
c.ServerApp.contents_manager_class = LabContentsManager  # see contents.py and stills.py
c.LabContentsManager.unlisted = {f"labs/{name}" for name in UNLISTED}
c.LabContentsManager.labs = {f"labs/{lab.name}" for lab in HERE.parent.glob("*.ipynb")}
c.LabContentsManager.yours = "labs/yours"
c.ServerApp.ip = "127.0.0.1"
c.ServerApp.allow_root = os.getuid() == 0  # as in a container, where there is nobody else
c.LabApp.default_url = "/lab/tree/labs/00_start.ipynb"  # where to begin
c.LabApp.app_settings_dir = str(HERE)  # overrides.json: no question about news
c.LabApp.workspaces_dir = str(WORKSPACES)
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"

end_them_with_the_server()
