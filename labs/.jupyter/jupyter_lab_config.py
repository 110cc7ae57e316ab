"""How `make lab` and the browser tests start JupyterLab: on labs/, quietly, on loopback only."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from stills import StillsManager  # noqa: E402 - it stands beside this file

c = get_config()  # noqa: F821 - JupyterLab puts it here
c.ServerApp.root_dir = str(HERE.parent)
c.ServerApp.contents_manager_class = StillsManager  # saved notebooks keep their pictures
c.ServerApp.ip = "127.0.0.1"
c.ServerApp.allow_root = os.getuid() == 0  # as in a container, where there is nobody else
c.LabApp.default_url = "/lab/tree/00_start.ipynb"  # where to begin
c.LabApp.app_settings_dir = str(HERE)  # overrides.json: no question about news
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
