# Broker Lab: `make lab` opens it, `make test` tries all of it, `make help` lists the rest.
# What they make lands in .venv/, build/ and .hypothesis/. Plain POSIX sh and Make 3.81 are enough.

VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
SITE   := $(VENV)/.site
LITE   := build/lite-tools
PIP    := $(BIN)/python -m pip --disable-pip-version-check
LOCKS  := requirements/build.txt requirements/all.txt
GUIDE  := labs/.ipython/ipython_kernel_config.py
LABS    = $(filter-out labs/04_%,$(wildcard labs/*.ipynb)) # all but the one on Spark
LATER  := labs/02_replication.ipynb labs/03_rebalance.ipynb labs/06_sending.ipynb \
    labs/07_promises.ipynb labs/08_speed.ipynb labs/09_operations.ipynb labs/10_kraft.ipynb \
    labs/articles.ipynb labs/challenges.ipynb \
    tests/labs tests/cluster tests/classroom tests/unit/proof
NBVAL  := -p tests.lean -p nbval.plugin --nbval --nbval-cell-timeout 300
ARGS   ?=

# The first Python on PATH that was tried, or else one that is newer; `make setup PYTHON=...` takes
# the one you name.
TRIED  := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))
SUITS  := import sys; sys.exit(sys.version_info < (3, 11))
NAMES  := python3 python3.14 python3.13 python3.12 python3.11
those   = $(foreach name,$(NAMES),$(shell $(name) -c '$(1)' 2>/dev/null && echo $(name)))
PYTHON ?= $(firstword $(call those,$(TRIED)) $(call those,$(SUITS)) python3)

# Where it is set, each of some thousand processes compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup lab test long order streams advanced check browser real site lite lite-test bench peers storm chaos rehearse student answers classroom docs lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s%s\n", $$1, $$2 }' Makefile
	@echo "ARGS=... is passed on: make test ARGS='-k index', make lab ARGS=--no-browser"

setup: $(READY) ## make .venv with the locked dependencies (Python 3.11 to 3.14, or PYTHON=...)

lab: $(READY) ## open JupyterLab on labs/00_start.ipynb
	$(BIN)/jupyter lab --config labs/.jupyter/jupyter_lab_config.py $(ARGS)

test: $(READY) ## run the tests that need neither a browser nor Spark, and the labs
	$(BIN)/pytest -n 4 --dist loadscope -m 'not long and not spark and not advanced' \
	    --ignore tests/browser --ignore tests/lite --ignore tests/real tests \
	    $(if $(LABS),$(NBVAL) $(LABS)) $(ARGS)

long: $(READY) ## the longer tests: crashes in a row, every strategy, all examples
	$(BIN)/pytest -n 2 --dist loadscope -m 'long or hypothesis' --hypothesis-profile long \
	    --ignore tests/browser --ignore tests/lite --ignore tests/real tests $(ARGS)

order: $(READY) ## the labs' cells twice, shuffled, interrupted; or ARGS='-k 03'
	$(BIN)/pytest tests/labs/orders.py $(ARGS)

streams: $(READY) ## the tests on Spark: source, sink, tables, kills, a cluster of workers, lab 04
	$(BIN)/pytest -n 3 --dist loadscope -m '(spark or needed) and not long' $(NBVAL) \
	    labs/04_streams.ipynb tests/streams $(ARGS)

advanced: $(READY) ## labs from end to end, without ZooKeeper too, exercises, mutants, rare faults
	$(BIN)/pytest -n 3 --dist loadscope -m '(advanced or needed) and not long and not spark' \
	    $(NBVAL) $(LATER) $(ARGS)

check: $(READY) ## lint, format, types, layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

browser: $(READY) $(SITE) lite ## drive the lab in a real Chromium or Chrome (or BROWSER_PATH=...)
	$(BIN)/pytest -n 3 --dist loadscope --no-loadscope-reorder -m 'not long' \
	    tests/browser tests/lite $(ARGS)

site: $(READY) $(SITE) ## build the site into build/site/, with build/lite/ if it is there
	PYTHONPATH=labs $(BIN)/python docs/site/build.py \
	    $(if $(wildcard build/lite/playground),--lite build/lite) $(ARGS)

lite: $(READY) $(LITE)/.ready ## build the lab for a browser tab into build/lite/ (needs npm)
	$(BIN)/python -m lite

lite-test: lite site ## drive it in Chromium: labs from end to end, traces, no network (needs Node)
	$(BIN)/pytest tests/lite $(ARGS)

real: $(READY) ## real Kafka 2.8.2, its tools and Streams with our brokers (needs Maven and a JDK)
	$(BIN)/python -m tests.real.jars
	$(BIN)/pytest -n 2 --dist loadscope --timeout 900 tests/real $(ARGS)

bench: $(READY) ## measure the engine side by side with its peers
	$(BIN)/python -m bench $(ARGS)

peers: $(READY) ## measure other brokers beside the engine (Debian packages, Maven and a JDK)
	$(BIN)/python -m bench.brokers $(ARGS)

storm: $(READY) ## try to break a simulated quorum and cluster for an hour, or ARGS='--minutes 600 --jobs 8'
	$(BIN)/python -m engine simulate --quorum --first 1000 --seeds 10000 --jobs 2
	$(BIN)/python -m engine simulate --kraft --first 1000 --seeds 2000 --jobs 2
	$(BIN)/python -m engine simulate --minutes 60 --first 1000 --jobs 2 $(ARGS)

chaos: $(READY) ## kill, pause and cut a real cluster for ten minutes, or ARGS='--seconds 3600'
	$(BIN)/python -m engine chaos --seconds 600 $(ARGS)

docs: $(READY) ## draw docs/diagrams and the map of ideas, point the pages to their lines, anew
	$(BIN)/python -m widgets.diagram docs/diagrams
	$(BIN)/python -m widgets.ideas docs
	$(BIN)/python -m tests.docs.lines

student: $(READY) ## the labs for students, into build/student: no answers, no outputs
	PYTHONPATH=labs $(BIN)/python -m handout student build/student

answers: $(READY) ## the labs for teachers, into build/answers: each exercise solved
	PYTHONPATH=labs $(BIN)/python -m handout answers build/answers

classroom: $(READY) ## thirty clusters at once on this machine, or ARGS='--students 10'
	$(BIN)/python -m tests.classroom $(ARGS)

rehearse: $(READY) ## make Binder's image without Docker, and run the labs within its limits
	$(BIN)/python -m tests.binder.rehearsal $(ARGS)

clean: ## remove all that these commands made, .venv included
	rm -rf $(VENV) build *.egg-info
	find . \( -name __pycache__ -o -name .hypothesis \) -type d -prune -exec rm -rf {} +

# Where no package index answers, pip says that there is no matching distribution.
ADVISE  = { set +x; } 2>/dev/null; exec >&2; \
          echo "If pip reaches no package index, name yours, or your proxy:"; \
          echo "    make setup PIP_INDEX_URL=https://...    make setup HTTPS_PROXY=http://host:port"; \
          echo "What was installed stays: the next run goes on from there."; exit 1

# PySpark comes as source. It is built with the locked setuptools, not with one fetched unseen:
# hence two steps, the tools that build before the rest, and no build isolation.
$(READY): $(LOCKS) pyproject.toml $(GUIDE)
	@python='$(PYTHON)'; \
	$$python -c '$(SUITS)' 2>/dev/null || { \
	    echo "Broker Lab needs Python 3.11 or newer, and '$$python' does not suit"; \
	    echo "($$($$python --version 2>&1)). Name one that does: make setup PYTHON=python3.14"; \
	    exit 1; } >&2; \
	$$python -c '$(TRIED)' || { \
	    echo "$$($$python --version) is newer than what Broker Lab was tried with, 3.11 to 3.14."; \
	    echo "It is used. If something fails, take another: make clean setup PYTHON=python3.14"; \
	    } >&2; \
	$$python -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "'$$python' cannot make a virtual environment. On Debian and Ubuntu this helps:"; \
	    echo "    sudo apt install python3-venv"; \
	    exit 1; } >&2; \
	test -x $(BIN)/python || $$python -m venv $(VENV)
	@echo "Installing the locked dependencies into $(VENV) (some 700 MB, once) ..."
	@set -x; $(PIP) install -q --require-hashes -r requirements/build.txt || { $(ADVISE); }
	@test -t 1 || quiet=-q; set -x; \
	$(PIP) install $$quiet --require-hashes --no-build-isolation -r requirements/all.txt && \
	$(PIP) install -q --no-deps --no-build-isolation --editable . || { $(ADVISE); }
	@mkdir -p $(VENV)/etc/ipython && cp $(GUIDE) $(VENV)/etc/ipython
	@touch $@

$(SITE): $(READY) requirements/site.txt
	$(PIP) install -q --require-hashes -r requirements/site.txt
	@touch $@

# An environment of its own: JupyterLab would load the kernel for browsers, and could not.
$(LITE)/.ready: $(READY) requirements/lite.txt
	@rm -rf $(LITE)
	$(BIN)/python -m venv $(LITE)
	$(LITE)/bin/python -m pip --disable-pip-version-check install -q --require-hashes -r requirements/lite.txt
	@touch $@

# For maintainers; `make lock ARGS=--upgrade` takes newer versions. See CONTRIBUTING.md.
UV     := build/uv/bin/uv
# What the kernel in a browser replaces, or cannot have.
NOT_THERE := jupyterlab-widgets pexpect psutil ptyprocess widgetsnbextension
FREEZE  = $(UV) pip compile -q --universal --generate-hashes --no-emit-index-url \
              --no-emit-find-links --custom-compile-command 'make lock' $(ARGS)

lock: $(UV) ## resolve pyproject.toml into requirements/ anew (for maintainers)
	$(FREEZE) --group build --output-file requirements/build.txt
	$(FREEZE) --all-extras --group dev --output-file requirements/all.txt pyproject.toml
	$(FREEZE) --all-extras -c requirements/all.txt --output-file requirements/lab.txt pyproject.toml
	$(FREEZE) --group site -c requirements/all.txt --output-file requirements/site.txt
	$(FREEZE) --group lite -c requirements/all.txt --output-file requirements/lite.txt
	$(FREEZE) --group browser --python-version 3.14 -c requirements/all.txt \
	    $(foreach name,$(NOT_THERE),--no-emit-package $(name)) --output-file requirements/browser.txt

$(UV):
	$(PYTHON) -m venv build/uv
	build/uv/bin/pip install -q uv
