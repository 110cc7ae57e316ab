# Broker Lab: `make lab` opens it, `make test` tries all of it, `make help` lists the rest.
# What they make lands in .venv/, build/ and .hypothesis/. Plain POSIX sh and Make 3.81 are enough.

VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PIP    := $(BIN)/python -m pip --disable-pip-version-check
LOCKS  := requirements/build.txt requirements/all.txt
LABS    = $(wildcard labs/*.ipynb)
ARGS   ?=

# The first Python on PATH that suits; `make setup PYTHON=...` takes the one you name.
SUITS  := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))
NAMES  := python3 python3.13 python3.12 python3.11
FOUND   = $(foreach name,$(NAMES),$(shell $(name) -c '$(SUITS)' 2>/dev/null && echo $(name)))
PYTHON ?= $(firstword $(FOUND) python3)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup lab test long streams check browser bench storm chaos lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s%s\n", $$1, $$2 }' Makefile
	@echo "ARGS=... is passed on: make test ARGS='-k index', make lab ARGS=--no-browser"

setup: $(READY) ## make .venv with the locked dependencies (Python 3.11 to 3.13, or PYTHON=...)

lab: $(READY) ## open JupyterLab on labs/
	$(BIN)/jupyter lab --config labs/.jupyter/jupyter_lab_config.py $(ARGS)

test: $(READY) ## run the tests that need no browser, and every lab
	$(BIN)/pytest -n 2 --dist loadscope -m 'not long and not spark' --ignore tests/browser tests \
	    $(if $(LABS),-p nbval.plugin --nbval --nbval-cell-timeout 120 $(LABS)) $(ARGS)

long: $(READY) ## the longer tests: crashes in a row, every strategy, slow followers
	$(BIN)/pytest -n 2 --dist loadscope -m long --ignore tests/browser tests $(ARGS)

streams: $(READY) ## the tests on Spark: source, sink, tables, kills, a cluster of workers
	$(BIN)/pytest -n 2 --dist loadscope -m 'spark and not long' tests/streams $(ARGS)

check: $(READY) ## lint, format, types, layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

browser: $(READY) ## drive the lab in a real Chromium or Chrome (or BROWSER_PATH=...)
	$(BIN)/pytest -n 2 --dist loadscope tests/browser $(ARGS)

bench: $(READY) ## measure the engine side by side with its peers
	$(BIN)/python -m bench $(ARGS)

storm: $(READY) ## try to break a simulated cluster for an hour, or ARGS='--minutes 600 --jobs 8'
	$(BIN)/python -m engine simulate --minutes 60 --first 1000 --jobs 2 $(ARGS)

chaos: $(READY) ## kill, pause and cut a real cluster for ten minutes, or ARGS='--seconds 3600'
	$(BIN)/python -m engine chaos --seconds 600 $(ARGS)

clean: ## remove all that these commands made, .venv included
	rm -rf $(VENV) build *.egg-info
	find . \( -name __pycache__ -o -name .hypothesis \) -type d -prune -exec rm -rf {} +

# PySpark comes as source. It is built with the locked setuptools, not with one fetched unseen:
# hence two steps, the tools that build before the rest, and no build isolation.
$(READY): $(LOCKS) pyproject.toml
	@python='$(PYTHON)'; \
	$$python -c '$(SUITS)' 2>/dev/null || { \
	    echo "Broker Lab needs Python 3.11, 3.12 or 3.13, and '$$python' is not one of them"; \
	    echo "($$($$python --version 2>&1)). Name one that is: make setup PYTHON=python3.12"; \
	    exit 1; } >&2; \
	$$python -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "'$$python' cannot make a virtual environment. On Debian and Ubuntu this helps:"; \
	    echo "    sudo apt install python3-venv"; \
	    exit 1; } >&2; \
	test -x $(BIN)/python || $$python -m venv $(VENV)
	@echo "Installing the locked dependencies into $(VENV) (some 700 MB, once) ..."
	$(PIP) install -q --require-hashes -r requirements/build.txt
	@test -t 1 || quiet=-q; set -x; \
	$(PIP) install $$quiet --require-hashes --no-build-isolation -r requirements/all.txt && \
	$(PIP) install -q --no-deps --no-build-isolation --editable .
	@touch $@

# For maintainers; `make lock ARGS=--upgrade` takes newer versions. See CONTRIBUTING.md.
UV     := build/uv/bin/uv
FREEZE  = $(UV) pip compile -q --universal --generate-hashes --no-emit-index-url \
              --no-emit-find-links --custom-compile-command 'make lock' $(ARGS)

lock: $(UV) ## resolve pyproject.toml into requirements/ anew (for maintainers)
	$(FREEZE) --group build --output-file requirements/build.txt
	$(FREEZE) --all-extras --group dev --output-file requirements/all.txt pyproject.toml
	$(FREEZE) --all-extras -c requirements/all.txt --output-file requirements/lab.txt pyproject.toml
	$(FREEZE) --group site -c requirements/all.txt --output-file requirements/site.txt

$(UV):
	$(PYTHON) -m venv build/uv
	build/uv/bin/pip install -q uv
