# Everything a person or a CI machine runs. Needs Python 3.11+, make and a C++ compiler; the rest is installed here.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
KERNELS := $(shell find graph/kernels -type f)

.PHONY: help env run test lint types unit bench bench-core law lock clean

help: ## say what there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

env: $(VENV)/.built ## make the environment in .venv

$(VENV)/.locked: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Graphtide needs Python 3.11 or newer, and this is %s. Name another one: make PYTHON=python3.12 …" % sys.version.split()[0])'
	@echo "Making the environment in $(VENV) (about two minutes the first time) …"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	@touch $@

$(VENV)/.built: $(VENV)/.locked pyproject.toml setup.py $(KERNELS)
	@echo "Building the kernels …"
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

run: env ## start the service, stream the sample in, ask questions, stay up
	@$(BIN)/python -m services.demo

test: lint types unit ## all checks and all tests

lint: env
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: env
	@$(BIN)/mypy

unit: env
	@$(BIN)/pytest

bench: env ## measure the service on real documents and write the README's table
	@$(BIN)/python -m tests.bench.service

bench-core: env ## measure the core's kernels, ratios in one run
	@$(BIN)/python -m tests.bench.core

law: env ## the law on real documents: shuffled, thrice, edited, deleted, killed; about ten minutes
	@$(BIN)/python -m tests.recovery.musique

lock: env ## pin every dependency anew
	@$(BIN)/pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --no-annotate --no-header --upgrade pyproject.toml -o requirements.lock

clean: ## forget the environment and what was built
	rm -rf $(VENV) build *.egg-info graph/*.so
