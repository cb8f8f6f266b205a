# Two commands on a fresh machine: `make run` and `make test`. Both set up what is missing and say so.
# PYTHON picks the interpreter (3.11 or newer); VENV the folder of the environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EXTRAS := forecast,plot,bench,dev
# Results depend neither on the number of threads nor on the machine's time zone; pip must not ask.
export OMP_NUM_THREADS ?= 2
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The real Kubernetes programs for tests: CI builds all that tests use, `make assets ASSETS=etcd` only some.
ASSETS ?= etcd kubernetes kwok metrics-server gateway

.PHONY: help setup learn run test test-all test-ray assets demo-fleet lint types layers format screenshots clean

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

setup: $(VENV)/.ready ## Make .venv/ with the command prewarm in it

$(VENV)/.ready: pyproject.toml constraints.txt
	@echo "setting up $(VENV) (a minute or two on first use) ..."
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "prewarm needs Python 3.11 or newer; set PYTHON=")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[$(EXTRAS)]'
	@echo "compiling the model's kernels and those of placement on GPUs ..."
	@$(BIN)/python -c 'from prewarm.forecast.live import warm_up; warm_up()'
	@$(BIN)/python -c 'from federation.nodes.foresee import warm_up; warm_up()'
	@touch $@
	@echo "ready: $(BIN)/prewarm"

learn: setup ## Add torch (several GB) for training, and the peers that learned parts are compared with
	@$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[$(EXTRAS),learn,peers]'

run: setup ## Run the service on a simulated world and print the page's address
	@$(BIN)/prewarm serve

test: setup lint types layers ## Check the style, the types and the layers, then run the tests
	$(BIN)/pytest -q -n 2 -m 'not slow and not ray'

test-all: setup learn lint types layers ## Everything, with the long runs and the sequence model
	$(BIN)/pytest -q -n 2 -m 'not ray'

# Apart from test-all: a Ray cluster cannot be kept to the loopback interface, it listens on all of them (with a token).
test-ray: learn ## Tests of --ray against a real Ray cluster, whose ports are open to the network while they run
	@$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[$(EXTRAS),learn,peers,ray]'
	$(BIN)/pytest -q -m ray

assets: ## Build the real Kubernetes programs for tests (Go >= 1.26; 12 minutes cold) and print their folder
	@tests/cluster/assets/build.sh $(ASSETS)
	@echo 'make the tests use them:  export PREWARM_ASSETS=$$(make -s assets 2>/dev/null)' >&2

demo-fleet: setup ## Run three real clusters until Ctrl-C, for prewarm serve --kubeconfig (builds the programs first)
	@PREWARM_ASSETS="$${PREWARM_ASSETS:-$$($(MAKE) -s assets | tail -n 1)}" $(BIN)/python -m tests.cluster.demo

screenshots: setup ## Take the pictures of the documentation anew (needs Chromium)
	PREWARM_SCREENSHOTS=docs $(BIN)/pytest -q tests/page -k 'phone or minutes or workload_why'

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports --no-logo

format: setup ## Format the code
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

clean: ## Remove what was built here
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
