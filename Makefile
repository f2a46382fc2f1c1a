# The workspace's commands. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/sh

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
DISTRIBUTIONS := core conformance spark $(sort $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml)))
SOURCES := $(addsuffix /src,$(DISTRIBUTIONS))
TYPED := $(SOURCES) tests/third_party/kv/src servers
PROJECT_FILES := requirements-dev.txt servers/requirements.txt constraints.txt $(addsuffix /pyproject.toml,$(DISTRIBUTIONS))
WHEELHOUSE := build/wheelhouse

.PHONY: help setup demo test live live-all servers-up servers-down lint format types docs record bench build wheelhouse clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.installed ## Make .venv with every distribution installed editable, and `lance-ns` in it

$(VENV)/.installed: $(PROJECT_FILES)
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: install it, or say make PYTHON=/its/path" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) comes without venv: on Debian, apt-get install python3-venv" >&2; exit 1; }
	@echo "Setting up $(VENV) (a minute or two the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet -c constraints.txt hatchling editables setuptools
	@$(PIP) install --quiet -c constraints.txt --no-build-isolation -r requirements-dev.txt
	@touch $@

demo: setup ## Show what it does, on the embedded default, in a minute
	@$(BIN)/python -m demo

test: setup wheelhouse lint types ## Lint, strict types and all offline tests
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not live"

live: setup ## Start Hive 3, Iceberg REST, Glue and S3, and run every test marked live on them
	@$(BIN)/python -m pytest -p servers.pytest_plugin -n 2 --dist worksteal -q -m live --live=live

live-all: setup ## The same with every server that this machine can have
	@$(BIN)/python -m pytest -p servers.pytest_plugin -n 2 --dist worksteal -q -m live --live=all

servers-up: setup ## Start every catalog server that this machine can have
	@$(BIN)/python -m servers up

servers-down: setup ## Stop them
	@$(BIN)/python -m servers down

lint: setup ## Check style and format
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "run: make format" >&2; exit 1; }

types: setup ## Check types, strictly
	@$(BIN)/mypy --no-error-summary --exclude 'servers/tests/' $(TYPED)

format: setup ## Format the code and mend what can be mended
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

record: setup ## Record the cassettes of one backend anew from real servers: make record BACKEND=iceberg [SERVER=nessie-0.99.0]
	@$(BIN)/python tools/record.py $(BACKEND) $(SERVER)

bench: setup ## Measure ratios to the bare libraries; ONLY=relay measures one suite
	@$(BIN)/python -m benchmarks $(ONLY)

docs: setup ## Make the generated parts of the manual anew
	@$(BIN)/python tools/docs.py

build: setup ## Build a wheel and an sdist of every distribution into dist/
	@$(BIN)/python tools/release.py

wheelhouse: $(WHEELHOUSE)/.filled

# What the packaging tests install from, with no index: the wheels that our distributions require. There is no wheel
# of PySpark; what needs it is tested in the environment itself, and in one that is packed for a cluster.
$(WHEELHOUSE)/.filled: $(VENV)/.installed
	@mkdir -p $(WHEELHOUSE)
	@$(BIN)/python tools/wheelhouse.py $(WHEELHOUSE) $(filter-out spark,$(DISTRIBUTIONS))
	@touch $@

clean: ## Remove everything that was made
	rm -rf $(VENV) build dist
