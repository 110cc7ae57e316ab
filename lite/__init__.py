"""The browser edition: the lab in a tab, on Pyodide. `make lite` builds it into build/lite/.

    npm: pyodide ───────────────────────> static/pyodide/       Python as WebAssembly
    registry: requirements/browser.txt ─> static/pyodide/*.whl  IPython, widgets, codecs
    this tree ── wheels.py ─────────────> static/pyodide/*.whl  engine, proof, oracle, widgets, labs
    all of them ── lock.py ─────────────> static/pyodide/pyodide-lock.json
    labs, docs, sources ── contents.py ─> files/                what JupyterLite opens
    playground/ ────────────────────────> playground/           one page without JupyterLab

Invariant: what is built needs a file server, and no network: every URL in it is relative.
Invariant: what is downloaded was locked with its hash, and is not part of the repository.
"""
