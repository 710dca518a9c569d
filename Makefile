# Targets for developers and CI. Needs Python 3.11+, make and a C++ compiler; the rest is installed here.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Some tests wait, so there are more workers than cores. Each worker collects all tests, for some four CPU seconds.
WORKERS ?= 3
# These wait for servers and processes for a part of the time.
SERVER_WORKERS ?= 3
# Test modules are compiled once for all processes and layers of the tests, also where Python may not write bytecode.
export PYTHONDONTWRITEBYTECODE :=
KERNELS := $(shell find graph/kernels -type f)

.PHONY: $(shell grep -oE '^[a-z-]+:' $(firstword $(MAKEFILE_LIST)) | tr -d :)

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

env: $(VENV)/.built ## make the whole environment in .venv: for running, tests and benches

# The environment for running. The kernels are compiled while the packages download.
$(VENV)/.running: requirements-build.lock requirements-run.lock pyproject.toml setup.py $(KERNELS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Graphtide needs Python 3.11 or newer, and this is %s. Name another one: make PYTHON=python3.12 …" % sys.version.split()[0])'
	@echo "Making the environment in $(VENV) (about a minute the first time) …"
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { echo "On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-build.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . & kernels=$$!; \
	  $(call install,requirements-run.lock); packages=$$?; wait $$kernels || packages=1; \
	  test $$packages = 0 || { echo "The packages could not be installed, or the kernels not compiled; the lines above give the reason."; \
	  echo "Where a kernel could not be compiled, a C++ compiler or Python's headers are missing: on Debian and Ubuntu,"; \
	  echo "apt install g++ python3-dev"; exit 1; } >&2
	@$(BIN)/python -m compileall -q graph streams infra services
	@touch $@

$(VENV)/.built: $(VENV)/.running requirements.lock
	@echo "Adding the packages of tests and benches …"
	@$(call install,requirements.lock)
	@$(BIN)/python -m compileall -q tests
# pytest compiles test modules in its own way: once here, not in each of its processes.
	@$(BIN)/pytest -q --collect-only > $(VENV)/.collected || { tail -n 40 $(VENV)/.collected >&2; exit 1; }
	@touch $@

# uv installs several times as fast as pip. pip is the fallback when uv cannot reach the package index. Both compile the
# modules to bytecode: where Python may not write it, each process of the tests would compile them again, for seconds.
install = { $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r $(1) || \
	  $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r $(1); }

run: $(VENV)/.running ## start the service, stream the sample in, ask questions, stay up
	@$(BIN)/python -m graphtide.services.demo

test: test-fast ## the checks, the quick tests, and each promise once on real servers and processes
	@$(MAKE) --no-print-directory test-servers

test-all: test ## every test: also the thorough ones; what continuous integration runs
	@$(MAKE) --no-print-directory test-thorough

# The types are checked beside the tests: each keeps one core busy for a part of the time only.
test-fast: lint ## the checks, and the quick tests that run in their own process alone; a minute and a half
	@$(BIN)/mypy > $(VENV)/.types 2>&1 & types=$$!; \
	  $(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m "not servers and not thorough"; tests=$$?; \
	  wait $$types; checked=$$?; cat $(VENV)/.types; exit $$((tests + checked))

lint: env
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m tests.lint.prose

types: env
	@$(BIN)/mypy

unit: env
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not servers"

test-thorough: env ## the long tests: random walks, growth, adversarial texts, every point of death, builds of the package
	@$(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m "thorough and not servers"
	@$(BIN)/pytest -n $(SERVER_WORKERS) --dist loadfile -m "thorough and servers"

test-servers: env ## the tests that need a broker, a graph database or processes of their own, without the long ones
	@$(BIN)/pytest -n $(SERVER_WORKERS) --dist loadfile -m "servers and not thorough"

test-memgraph: env ## the contract tests of the graph database on the Memgraph at ADDRESS (bolt://[user:password@]host:7687); deletes its data
	@$(if $(ADDRESS),,$(error test-memgraph needs ADDRESS=bolt://host:7687, a Memgraph whose data may be deleted))
	@GRAPHTIDE_TEST_MEMGRAPH=$(ADDRESS) $(BIN)/pytest -n0 $$(grep -l graph_server tests/contract/test_*.py) tests/contract/bolt_*

test-secure: env ## Kafka with SASL and TLS, the graph database with TLS, and a whole cluster on them; two minutes
	@$(BIN)/pytest tests/secure

test-engines: env ## the chart on Kubernetes' API server, the dashboards in Grafana, llama.cpp's server; some minutes, the first time (they are built) half an hour
	@$(BIN)/pytest tests/engines

page: env ## build the page for browsers: types from OpenAPI, checks, unit tests, services/page/dist; needs Node 20
	@$(BIN)/python -m tests.support.page_interface services/page/openapi.json
	@cd services/page && npm ci --prefer-offline --no-progress && npm run types && npm run check && npm test && npm run build

page-pictures: env ## write the pictures of docs/page.md from a service with the sample, in Chromium
	@$(BIN)/python -m tests.support.page_pictures

pages: env ## run the sessions of the README, docs/tutorial.md and docs/mcp.md, and write their output and docs/edit.svg
	@$(BIN)/python -m tests.support.write_pages

fuzz-grpc: env ## every call of gRPC with 2,000 generated requests each; the seed is printed, GRAPHTIDE_FUZZ_SEED repeats it
	@GRAPHTIDE_FUZZ_EXAMPLES=2000 $(BIN)/pytest -n0 -s -q --timeout 3600 tests/e2e/test_grpc_fuzz.py

bench: env ## measure the service on real documents and write the README's table
	@$(BIN)/python -m tests.bench.service

bench-notes: env ## answers over realistic notes with the default settings, before and after updates; writes the README's table
	@$(BIN)/python -m tests.bench.notes

bench-page: env ## weight of the page, time to interactive, frames per second at 5,000 nodes; writes docs/page.md
	@$(BIN)/python -m tests.bench.page

bench-core: env ## measure the core's kernels, ratios in one run
	@$(BIN)/python -m tests.bench.core

bench-operations: env ## digest, statistics and dead letters as a graph grows; writes docs/core.md; SIZES="1000 10000 100000"
	@$(BIN)/python -m tests.bench.operations $(if $(SIZES),--sizes $(SIZES))

bench-import: env ## time and evidence of an index of LightRAG that is imported
	@$(BIN)/python -m tests.bench.import_stores

bench-extraction: env ## facts held, answers in statements, recall and CPU of extraction without a language model
	@$(BIN)/python -m tests.bench.extraction $(if $(QUICK),--quick)

bench-retrieval: env ## recall of every mode beside BM25, the contribution of each part, latency
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.bench.retrieval $(if $(QUICK),--quick)
	@$(if $(QUICK),,$(MAKE) --no-print-directory bench-da-rag)

bench-da-rag: env ## figures 4 to 6 of DA-RAG: calls and tokens, quality of subgraphs, recall by k; writes docs/retrieval.md
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.bench.darag_figures

eval: env ## measure and judge answers with the configured model: QUESTIONS=file, ARGS="--against vector …" (docs/evaluation.md)
	@$(BIN)/graphtide eval $(or $(QUESTIONS),--help) $(ARGS)

bench-retrieval-sets: env ## recall on question sets without a language model, and what each part brings; ten minutes
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.bench.retrieval_sets_table

bench-partitioned: env ## one graph in four processes against one: results, rounds, bytes and time of a question
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.bench.partitioned $(ARGS)

bench-standing: env ## standing questions: CPU of a document at 0, 100 and 10,000 of them, latency of events
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.bench.standing $(ARGS)

bench-postgres: env ## latency from a row of PostgreSQL through Debezium and Kafka to an answer
	@$(BIN)/python -m tests.bench.postgres $(ARGS)

bench-reports: env ## cost of reports after an edit of a document, and cost of themes; ten minutes
	@$(BIN)/python -m tests.bench.reports

commands-page: env ## write docs/commands.md from the command line's own help
	@$(BIN)/python -m typer graphtide.services.cli.top_level.app utils docs --name graphtide --title Commands \
	  --output docs/commands.md

bench-global: env ## cost and coverage of global search on multi-hop questions; writes docs/retrieval.md; three minutes
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.bench.global_search

bench-cluster: env ## each stage of a cluster on real servers, a burst, a steady rate; writes docs/scaling.md; half an hour
	@$(BIN)/python -m tests.bench.cluster

bench-shares: env ## many graphs on four query replicas: memory, balance, latency, a kill, an addition, a rolling restart; writes docs/cluster.md; ARGS="--graphs 10000"
	@$(BIN)/python -m tests.bench.shares $(ARGS)

bench-scaling: env ## cost of a graph as it grows, and of many graphs; writes docs/scaling.md; an hour and a half
	@$(BIN)/python -m tests.bench.scaling
	@$(MAKE) --no-print-directory bench-large-graph

bench-large-graph: env ## one graph of a million relations in one process: memory, CPU, latency as it grows; writes docs/scaling.md; twenty minutes
	@$(BIN)/python -m tests.bench.large_graph $(ARGS)

bench-memory: env ## memory of a graph by structure: write model, view with indexes, embedded service; writes docs/scaling.md
	@$(BIN)/python -m tests.bench.memory $(ARGS)

bench-large-text: env ## memory and time of a text of 5 MB in one document, and questions to another graph beside it
	@$(BIN)/python -m tests.bench.large_text $(ARGS)

bench-cluster-quick: env ## the same at a small scale, without writing the page
	@$(BIN)/python -m tests.bench.cluster --quick --no-page

bench-llm: env ## the whole corpus through a language model that answers from recordings; writes docs/models.md
	@$(BIN)/python -m tests.bench.llm

bench-llm-quick: env ## the same with 200 documents, without writing the page
	@$(BIN)/python -m tests.bench.llm --documents 200

try-llm: env ## a few documents and questions with the endpoint that GRAPHTIDE_LLM_* names: calls, tokens, cost, time
	@$(BIN)/python -m graphtide.services.demo.try_llm

$(VENV)/.torch: env
	@$(BIN)/python -c 'import torch' 2> $@ || { tail -n 1 $@ >&2; rm $@; \
	  echo "This wants torch: $(BIN)/pip install torch" >&2; exit 1; }

bench-answers: env $(VENV)/.torch ## the choice of answers over 84 collections that no model saw; wants torch; writes docs/answers.md; 75 minutes
	@$(BIN)/python -m tests.training.cross_validate build/cross-validation $(ARGS)

train-answers: env $(VENV)/.torch ## train cross-encoder and ranker of the answers anew from tests/training; wants torch; two hours
	@rm -rf build/training
	@$(BIN)/python -m tests.training.examples build/training/examples
	@$(BIN)/python -m tests.training.train_adapter --examples build/training/examples \
	  --out build/training/adapter.npz $(ARGS)
	@$(BIN)/python -m tests.training.lists build/training/lists --adapter build/training/adapter.npz
	@$(BIN)/python -m tests.training.train_ranker --lists build/training/lists --adapter build/training/adapter.npz \
	  --out build/training/weights.npz

bench-bolt: env ## commits and snapshots on Neo4j beside SQLite; queries of a commit as the graph grows, for docs/scaling.md
	@$(BIN)/python -m tests.bench.bolt_store
	@$(BIN)/python -m tests.bench.bolt_growth

faults: env ## broker and graph database unreachable for a minute each under load, and a longer walk; about ten minutes
	@$(BIN)/pytest tests/recovery/servers_away.py
	@$(MAKE) --no-print-directory walk MINUTES=5

walk: env ## the random walk of a cluster for MINUTES (default 30), from SEED if there is one
	@$(BIN)/python -m tests.recovery.cluster_walk --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED))

law: env ## the law on real documents: shuffled, repeated three times, edited, deleted, killed; about ten minutes
	@$(BIN)/python -m tests.recovery.musique

image-check: env ## build and test the image, with Docker or Podman; without them run its steps in a scratch folder
	@$(BIN)/python -m tests.deploy.image_check

fuzz: env ## every decoder under atheris, then HTTP requests from the description, for MINUTES in all (default 10), from SEED if there is one
	@$(BIN)/python -m tests.fuzz.coverage_guided --minutes $$(awk 'BEGIN { print $(or $(MINUTES),10) / 2 }') $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m tests.fuzz.http --minutes $$(awk 'BEGIN { print $(or $(MINUTES),10) / 2 }') $(if $(SEED),--seed $(SEED))

bench-hostile: env ## latency of /healthz beside hostile clients and heavy requests, by CASE if there is one; half an hour
	@$(BIN)/python -m tests.bench.hostile $(CASE)

soak-cluster: env ## hostile and ordinary clients against a cluster on Kafka and Neo4j for MINUTES (default 60), with kill -9 at random
	@$(BIN)/python -m tests.recovery.cluster_soak --minutes $(or $(MINUTES),60) $(if $(SEED),--seed $(SEED))

soak: env ## hostile and ordinary clients together against one service for MINUTES (default 60), from SEED if there is one
	@$(BIN)/python -m tests.recovery.soak --minutes $(or $(MINUTES),60) $(if $(SEED),--seed $(SEED))

LOCK := uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header --generate-hashes

lock: env ## pin every dependency again, with the hashes of its files: for the environment, and for the image
	@$(BIN)/$(LOCK) --all-extras --upgrade pyproject.toml -o requirements.lock
	@$(BIN)/$(LOCK) --extra build --extra files -c requirements.lock pyproject.toml -o requirements-run.lock
	@printf 'uv\nsetuptools\npybind11\nwheel\n' | $(BIN)/$(LOCK) -c requirements.lock - -o requirements-build.lock
	@$(BIN)/$(LOCK) --extra cluster --extra tracing --extra mcp --extra schema-registry -c requirements.lock pyproject.toml -o requirements-image.lock

audit: env ## known vulnerabilities of the locked packages; needs access to PyPI's advisories
	@$(BIN)/pip install --quiet pip-audit
	@$(BIN)/pip-audit --require-hashes --disable-pip -r requirements.lock

image-digests: env ## fetch the digests of the images in infra/images.toml from their registries and write them; needs Docker
	@$(BIN)/python -m tests.deploy.image_digests

clean: ## delete the environment and all build results
	rm -rf $(VENV) build *.egg-info graph/*.so
