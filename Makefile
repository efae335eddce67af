# From a bare machine to the comparison table. `make` alone lists the targets.
#
# Nothing has to be installed or activated first: each target makes what it needs. PYTHON=/path/to/python chooses the
# interpreter (3.11 or newer).

VENV := .venv
BIN := $(VENV)/bin
# The stamp carries the folder's own path: scripts in a virtual environment hold absolute paths, so a tree that was
# moved needs a new one. (Two substitutions, since a target's name can hold neither a slash more nor a space.)
space := $(subst ,, )
ENVIRONMENT := $(VENV)/.complete$(subst $(space),-,$(subst /,-,$(CURDIR)))
# Jupyter refuses to start as root unless told; in a container or a fresh virtual machine root is who you are.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help env tables figures notebooks site test quick thorough lab live servers browser doctor up down lint types lock clean

help: ## list these targets
	@echo "lockbench measures distributed locks on real servers. Targets:"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/    make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

env: $(ENVIRONMENT) ## make the Python environment (.venv) and nothing more

tables: servers ## measure six systems, break them in the hazard lab, then write tables, figures and notebooks
	$(BIN)/lockbench run --quick
	$(BIN)/lockbench hazard run all
	$(BIN)/lockbench report

figures: $(ENVIRONMENT) ## draw everything in figures/ from the committed measurements
	$(BIN)/lockbench report --reference

notebooks: $(ENVIRONMENT) ## execute every notebook on the committed measurements, into notebooks/rendered/
	$(BIN)/lockbench notebooks

quick: lint types ## check style and types, then run the tests that need no server: a minute or two
	$(BIN)/pytest -q -n 4 -m 'not servers and not measures and not thorough' tests/unit tests/records tests/analysis tests/structure

test: servers browser lint types ## check style and types, then run the tests, on real servers too
	tools/tests.sh $(BIN)/pytest

site: $(ENVIRONMENT) ## build the documentation as a site, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

thorough: servers browser ## run the tests that `make test` leaves out: the same in more surroundings, or for longer
	$(BIN)/pytest -n 2 -m thorough

lab: $(ENVIRONMENT) ## open JupyterLab on the notebooks
	$(BIN)/jupyter lab $(AS_ROOT) notebooks/

live: servers ## open Locust's web page on servers of its own
	$(BIN)/lockbench live

servers: $(ENVIRONMENT) ## install the servers that are missing (Debian and Ubuntu; says first which)
	$(BIN)/lockbench servers --yes

browser: $(ENVIRONMENT) ## install the browser that the tests look at tables with (Debian and Ubuntu)
	$(BIN)/python -m tests.report.browser

doctor: $(ENVIRONMENT) ## say for each system which server would be used, and what is missing
	$(BIN)/lockbench doctor

up: servers ## start all servers, each on a free port of this machine
	$(BIN)/lockbench up

down: $(ENVIRONMENT) ## stop every server that lockbench started
	$(BIN)/lockbench down

lint: $(ENVIRONMENT) ## check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(ENVIRONMENT) ## check types
	$(BIN)/mypy

lock: ## pin every Python package anew, at the newest version that pyproject.toml allows
	$(or $(PYTHON),python3) -m venv .lockbench/lock
	.lockbench/lock/bin/python -m pip install -q --disable-pip-version-check uv
	.lockbench/lock/bin/uv pip compile -q --upgrade --universal --python-version 3.11 --all-extras --generate-hashes \
		--custom-compile-command "make lock" --output-file requirements.lock pyproject.toml

clean: ## stop the servers and remove what make and the tests made (runs in data/ stay)
	if [ -x $(BIN)/lockbench ]; then $(BIN)/lockbench down; fi
	rm -rf $(VENV) .lockbench build site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(ENVIRONMENT): requirements.lock pyproject.toml tools/environment.sh
	@tools/environment.sh $(VENV) $@
