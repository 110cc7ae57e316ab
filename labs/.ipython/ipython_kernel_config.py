"""What every kernel of the lab's environment does when it starts: it takes the guide along.

`make setup` puts this where IPython looks for the settings of an environment (.venv/etc/ipython),
so that it holds in JupyterLab, in an editor and in tests alike.
"""

c = get_config()  # noqa: F821 - IPython puts it here
c.InteractiveShellApp.extensions.append("widgets.notebook.guide")
