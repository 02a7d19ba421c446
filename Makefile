# Berthmaster's commands. `make` or `make help` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Of tests: 0 has them run one after the other, and told of one by one.
PROCESSES ?= auto
CODE := berthmaster scheduler_svc node_agent kubeio deploy benchmarks tests examples
# Versions that the locks are made for; the image uses the newest.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header

.DEFAULT_GOAL := help
.PHONY: help install check test unit format up down status demo bench bench-quick image sbom kind kind-status kind-down kind-test parity lock clean

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(INSTALLED) ## Make .venv with everything, from the locks

$(INSTALLED): locks/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Berthmaster needs Python 3.11 or later; name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "Python's venv module is missing; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@echo "Installing into $(VENV) (about a minute the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r locks/dev.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

check: $(INSTALLED) ## Format, lint, types, import contracts, sizes and purity (under a minute)
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/architecture

test: $(INSTALLED) ## Everything that needs no Docker; the first run builds a control plane (about 15 minutes)
	@$(BIN)/python -m deploy.controlplane binaries
	@$(BIN)/python -m pytest --cov -n $(PROCESSES) --maxprocesses 4 --dist loadfile

unit: $(INSTALLED) ## The tests that need no API server (about a minute)
	@$(BIN)/python -m pytest -m "not integration"

format: $(INSTALLED) ## Put the code in order
	@$(BIN)/ruff check --fix --quiet $(CODE) || true
	@$(BIN)/ruff format $(CODE)

up: $(INSTALLED) ## Start a local control plane: etcd, kube-apiserver, kube-controller-manager, kwok
	@$(BIN)/python -m deploy.controlplane up

down: $(INSTALLED) ## Stop it and remove what it made
	@$(BIN)/python -m deploy.controlplane down

status: $(INSTALLED) ## Say what of it is running
	@$(BIN)/python -m deploy.controlplane status

demo: $(INSTALLED) ## Watch 100 Nodes fill with 500 Pods, and a leader die
	@$(BIN)/python -m deploy.demo

bench: $(INSTALLED) ## Measure, side by side with kube-scheduler (about four hours, on a quiet machine)
	@$(BIN)/python -m benchmarks all

bench-quick: $(INSTALLED) ## The same with fewer Nodes, Pods and runs (a few minutes)
	@$(BIN)/python -m benchmarks all --quick

image: $(INSTALLED) ## Build berthmaster:dev; needs Docker, no registry (2 minutes the first time)
	@$(BIN)/python -m deploy.image build

sbom: $(INSTALLED) ## List what is in it, as CycloneDX, in dist/berthmaster.cdx.json
	@$(BIN)/python -m deploy.image sbom --output dist/berthmaster.cdx.json

kind: $(INSTALLED) ## A cluster of containers with Berthmaster in it; needs Docker, no registry (2 minutes; the first time 40)
	@$(BIN)/python -m deploy.kind up --build $(KIND)

kind-status: $(INSTALLED) ## Say what of it runs
	@$(BIN)/python -m deploy.kind status

kind-down: $(INSTALLED) ## Remove it
	@$(BIN)/python -m deploy.kind down

kind-test: $(INSTALLED) ## The tests that need a cluster of containers, on one of their own (8 minutes)
	@$(BIN)/python -m pytest -p pytest_kind.plugin -m kind --durations 10 --cluster-name berthmaster-test tests/kind $(KIND_TEST)

parity: $(INSTALLED) ## Compare with kube-scheduler's framework on random clusters (10 minutes, 20 the first time)
	@$(BIN)/python -m tests.parity $(PARITY)

lock: $(INSTALLED) ## Resolve the dependencies anew into locks/
	@$(LOCK) --upgrade pyproject.toml -o locks/run.txt
	@$(LOCK) --upgrade --group dev pyproject.toml -o locks/dev.txt
	@$(LOCK) --upgrade --group build -c locks/dev.txt -o locks/build.txt

clean: down ## Remove .venv, .state and caches (not the binaries in ~/.cache/berthmaster)
	@rm -rf $(VENV) .state .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
