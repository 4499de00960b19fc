# Everything a person does with a clone. `make` alone lists it.
#
#   make demo PORT=5007            another port, of make notebook too
#   make test TESTS=tests/core     a part of the tests
#   make test PYTHON=python3.12    another Python for .venv (3.11 to 3.14; run `make clean` first if .venv exists)

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo notebook test tested lint prove record docs release bench screens constraints clean

# Python keeps what it compiles, whatever the shell says: hundreds of processes start out of one environment.
export PYTHONDONTWRITEBYTECODE :=

VENV := .venv
BIN := $(VENV)/bin
TESTS ?= tests
PORT ?=
BENCH ?=
RELEASE ?=

# A suitable Python: the one asked for, else the first that runs and is in range. Without one uv fetches one.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' >/dev/null 2>&1 && echo $$p && break; \
	done)

# uv if it runs, else the standard library's venv, into which pip installs uv: it takes a quarter of pip's time. A pip
# that is set to an index of its own installs all itself, as uv reads no settings of pip.
UV := $(shell uv --version >/dev/null 2>&1 && echo uv)

# Spark needs Java 17 or 21. Without one the environment takes the `java` extra. The stamps are named after what was
# found, so that the extra is added when Java goes away.
JAVA := $(shell for j in $${JAVA_HOME:+"$$JAVA_HOME/bin/java"} java; do \
	case "$$("$$j" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')" in (17|21) echo system; exit;; esac; \
	done; echo packaged)
EXTRAS_system := spark,web
EXTRAS_packaged := spark,web,java
EXTRAS := $(EXTRAS_$(JAVA))

RUNTIME := $(VENV)/.runtime-$(JAVA)-java
DEVELOPMENT := $(VENV)/.development-$(JAVA)-java
PIP := $(BIN)/python -m pip
UV_OR_PIP := $$(test -x $(BIN)/uv && echo $(BIN)/uv pip install --python $(BIN)/python || echo $(PIP) install)
INSTALL := $(if $(UV),uv pip install --python $(BIN)/python,$(UV_OR_PIP)) --constraint constraints.txt

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1#/p' $(MAKEFILE_LIST) | awk -F '#' '{ printf "%-20s %s\n", $$1, $$2 }'

demo: $(RUNTIME) ## build the demo tables if absent and open the explorer on them
	$(BIN)/delta-explorer demo $(if $(PORT),--port $(PORT))

# JupyterLab asks its makers for news and new versions unless it is told not to.
ASK_NOBODY := --LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate

notebook: $(DEVELOPMENT) ## build the demo tables if absent and open JupyterLab on the notebooks
	$(BIN)/python -c 'from explorer.demo import demo_warehouse; print("The demo tables are in", demo_warehouse())'
	$(BIN)/jupyter lab $(if $(PORT),--port $(PORT)) $(ASK_NOBODY) notebooks

# Lint beside the tests: it has one processor's minute of work, and says its faults while the tests go on.
test: $(DEVELOPMENT) ## everything that must hold: lint, types, import rules, every test
	$(MAKE) --no-print-directory --jobs 2 lint tested

tested: $(DEVELOPMENT)
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile $(TESTS)

lint: $(DEVELOPMENT) ## ruff, formatting, strict types, import rules
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

prove: $(DEVELOPMENT) ## what `make test` tries in a small dose, in full; takes hours
	$(BIN)/python -m tests.prove --whole

# Before a commit: the tests that name rows of the protocol and changed since are run, the other pages are only written.
record: $(DEVELOPMENT) ## renew every page of the docs that a test compares with the code or with a record
	$(BIN)/python -m tests.architecture --write
	$(BIN)/python -m tests.cli.reference --write
	$(BIN)/python -m tests.prove --page
	$(BIN)/python -m tests.strength page
	$(BIN)/python -m tests.conformance --write

docs: $(DEVELOPMENT) ## build the guide and the references into build/site; a dead link is a failure
	$(INSTALL) --quiet --group docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --builder html docs build/site
	@echo "Open build/site/index.html"

release: $(DEVELOPMENT) ## build wheel and sdist into dist, and try them in clean environments; RELEASE=--whole: each extra
	$(BIN)/python -m tests.release $(RELEASE)

bench: $(DEVELOPMENT) ## measure the speeds that the documents state; BENCH=--quick compares with them
	$(BIN)/python -m tests.benchmarks $(BENCH)

screens: $(DEVELOPMENT) ## screenshots of every page, light and dark, into build/screens
	$(BIN)/python -m tests.screens

constraints: ## resolve constraints.txt again (needs uv)
	printf 'pip\nuv\n' | uv pip compile pyproject.toml - --all-extras --group dev --group docs --python-version 3.11 --upgrade --no-annotate \
		--no-emit-index-url --no-emit-find-links --custom-compile-command 'make constraints' --output-file constraints.txt

clean: ## remove what these targets make: .venv, build, caches
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache test-results
	find explorer tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(if $(PYTHON)$(UV),,$(error No Python from 3.11 to 3.14 was found. Install one, or uv, or name one: make PYTHON=...))
	rm -rf $(VENV)
	$(if $(UV),uv venv --python '$(or $(PYTHON),>=3.11,<3.15)' $(VENV),$(PYTHON) -m venv $(VENV))
	$(if $(UV),,$(PIP) install --constraint constraints.txt pip \
		$$($(PIP) config list | grep -E 'index-url|no-index' >&2 || echo uv))

$(RUNTIME): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[$(EXTRAS)]'
	touch $@

$(DEVELOPMENT): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[$(EXTRAS),jupyter,sign,oidc]' --group dev
	touch $(RUNTIME) $@
