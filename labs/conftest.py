"""What `pytest --nbval labs/01_storage.ipynb` needs, wherever it is started."""

# pyproject.toml keeps nbval out of all other runs: it takes a second to load.
pytest_plugins = ["nbval.plugin", "tests.labs.saved_plugin"]
