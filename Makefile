# Everything runs in .venv. `make install` makes it from requirements.lock, for who uses Keyheat; what works on
# it (`make test` and all below) adds requirements-dev.lock. Needs Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
COLLECTED := $(VENV)/.collected
CORES := import os; print(min(8, 3 * len(getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count()))(0))))
WORKERS ?= $(shell $(PYTHON) -c '$(CORES)')
# Bytecode is written for what is imported, as it is imported: a fifth less on disk than all of it. It is written
# whatever the shell says: where it is not, every process of a test compiles all that it imports, for 2 seconds.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --no-compile
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python

.PHONY: help demo install dev wheel compiled quick test nightly test-aws check lint types bench month gallery attacks soak accuracy trial fidelity clients install-clients lock schema docs clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      four scenarios on the local endpoint, four reports, one index page (about 2 minutes)"
	@echo "make install   the environment in .venv, from requirements.lock: all that it takes to use Keyheat"
	@echo "make dev       the same, and what it takes to work on it, from requirements-dev.lock"
	@echo "make wheel     build the wheel and the sdist in dist/, and try the wheel in an empty environment"
	@echo "make compiled  the same wheel with the local table's path of a request compiled to C, in .compiled (a minute or two)"
	@echo "make quick     the tests that open no process, socket or browser (about a minute)"
	@echo "make test      every test that a change must pass (about ten minutes on two cores)"
	@echo "make nightly   what takes longer: other people's clients, packages, kills, fuzzing (about as long again)"
	@echo "make test-aws  what only a real AWS account can show (off otherwise; costs a few cents)"
	@echo "make check     ruff, mypy --strict, and every test of a change"
	@echo "make bench     what each claim of speed is measured with (about 6 minutes)"
	@echo "make month     30 nights under keyheat regress with three changes in them (about 3 minutes), and their page"
	@echo "make gallery   every kind of page as pictures, wide, narrow, dark and on paper, in reports/samples (about 5 minutes)"
	@echo "make attacks   what a hostile neighbour sends, where it takes too long for a test (about a minute)"
	@echo "make soak      20 minutes at 3,000/s with faults all the while: nothing leaks, hangs or is lost"
	@echo "make accuracy  docs/trust.md: how often labels are right, on random tables (a few minutes)"
	@echo "make trial     does the local table do what the model says? in an account: python -m tools.trial --target aws (less than \$$1)"
	@echo "make fidelity  docs/trust.md: compare the model with what others measured"
	@echo "make clients   docs/applications.md: boto3, the JavaScript SDK and others on the local table (about 2 minutes)"
	@echo "make lock      bring both lock files up to date with pyproject.toml"
	@echo "make schema    write configs/*.schema.json from the code"
	@echo "make docs      the pages of docs/ as a site with navigation and search, in reports/out/docs"

demo: install
	$(BIN)/keyheat demo

install: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	$(NEW_VENV)
	$(PIP) --require-hashes -r requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	$(COMPILED)
	@touch $@

# What the first run would compile on its way is imported once: a simulation's modules, a load's, the endpoint's.
define COMPILED
@$(BIN)/keyheat simulate hotkey --quiet --out $(VENV)/first
@$(BIN)/python -c 'import locust.main, boto3, keyheat.endpoint.server, keyheat.load.run.session'
@rm -r $(VENV)/first
endef

define NEW_VENV
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "Keyheat needs Python 3.11 or later, and $(PYTHON) is older; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
$(PYTHON) -m venv $(VENV)
endef

dev: $(DEV)

# One lock has all that the other has: they are not installed one after the other. pip installs uv alone, which
# installs the rest in a fifth of pip's time; where it reaches no index (pip.conf is not read by it), pip does.
$(DEV): requirements.lock requirements-dev.lock pyproject.toml
	$(NEW_VENV)
	sed -n '/^uv==/,/[^\\]$$/p' requirements-dev.lock > $(VENV)/uv.lock
	$(PIP) --require-hashes -r $(VENV)/uv.lock
	$(UV) --require-hashes -r requirements-dev.lock || $(PIP) --require-hashes -r requirements-dev.lock
	$(UV) --no-deps --no-build-isolation --editable .
	@touch $(STAMP) $@

wheel: dev
	$(BIN)/python .ci/wheel.py dist

# For one Python on one system; needs a C compiler. What is measured and tried of it is unpacked beside it.
compiled: dev
	rm -rf .compiled build
	KEYHEAT_COMPILED=3 $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir .compiled .
	$(BIN)/python -m pip install --quiet --no-deps --target .compiled/site .compiled/keyheat-*.whl

# Each worker would compile all tests for itself, all at once: the first time, one does it before the others.
$(COLLECTED): $(DEV)
	-$(BIN)/python -m pytest -q --collect-only -m "not nightly" >/dev/null  # what it cannot collect is told below
	@touch $@

# Three workers for each core: most of the time of a load, or of a minute that is to be published, passes in waiting.
# Nothing here multiplies matrices: the threads for it that numpy starts in each process are a fifth of its import.
test nightly quick: export OPENBLAS_NUM_THREADS := 1
test: $(COLLECTED)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup -m "not nightly"

nightly: install-clients
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup -m nightly

quick: dev
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m "not opens and not slow and not nightly"

test-aws: dev
	KEYHEAT_TEST_AWS=1 $(BIN)/python -m pytest -q -rs tests/aws

check: lint types test

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: dev
	$(BIN)/mypy

soak: dev
	$(BIN)/python -m benchmarks.soak

month: dev
	$(BIN)/python -m benchmarks.month

gallery: dev
	$(BIN)/python -m tools.gallery

attacks: dev
	$(BIN)/python -m benchmarks.attacks

# The compiled build is measured beside the other, where there is a C compiler.
bench: dev
	if command -v cc >/dev/null; then $(MAKE) compiled; fi
	$(BIN)/python -m benchmarks

accuracy: dev
	$(BIN)/python -m tools.accuracy --seed 31415 --scenarios 1000 --write docs/data/accuracy.json
	$(BIN)/python -m tools.pages

trial: dev
	$(BIN)/python -m tools.trial

fidelity: dev
	$(BIN)/python -m tests.calibration.fidelity --write
	$(BIN)/python -m tools.pages

clients: install-clients
	$(BIN)/python -m tests.clients.kept
	$(BIN)/python -m tools.pages

# Each Python client has an environment of its own, since each wants another botocore. Go's SDK is Debian's: there is
# nothing to build where that is not installed.
CLIENTS := .clients
PYTHON_CLIENTS := aioboto3 awscli pynamodb
NODE_CLIENTS := tests/clients tests/clients/js-2025
GO_PATH := /usr/share/gocode
GO_SDK := $(GO_PATH)/src/github.com/aws/aws-sdk-go-v2/service/dynamodb

install-clients: $(CLIENTS)/.installed

$(CLIENTS)/.installed: $(PYTHON_CLIENTS:%=tests/clients/%.lock) $(NODE_CLIENTS:%=%/package-lock.json) $(wildcard tests/clients/go-*/*.go) $(wildcard $(GO_SDK)) | dev
	for client in $(PYTHON_CLIENTS); do \
		$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python $(CLIENTS)/$$client && \
		$(BIN)/uv pip sync --quiet --python $(CLIENTS)/$$client/bin/python tests/clients/$$client.lock || exit; \
	done
	for folder in $(NODE_CLIENTS); do npm ci --silent --ignore-scripts --prefix $$folder || exit; done
	test ! -d $(GO_SDK) || ! command -v go >/dev/null || for program in go-client go-retries; do \
		GO111MODULE=off GOPATH=$(GO_PATH) GOFLAGS= GOCACHE=$(CURDIR)/$(CLIENTS)/go-cache \
		go build -o $(CLIENTS)/$$program tests/clients/$$program/*.go || exit; \
	done
	@touch $@

LOCK := $(BIN)/uv pip compile pyproject.toml --extra all --universal --python-version 3.11 --generate-hashes \
	--no-header --no-emit-index-url --no-annotate --quiet --output-file

# Each lock file names all that it takes, so that a package has one version in both.
lock: dev
	$(LOCK) requirements-dev.lock --group dev
	$(LOCK) requirements.lock --group build --constraint requirements-dev.lock
	$(subst --extra all,,$(LOCK)) deploy/local.lock --constraint requirements-dev.lock
	$(subst --extra all,,$(LOCK)) deploy/build.lock --group build --group compiled --constraint requirements-dev.lock
	for client in $(PYTHON_CLIENTS); do echo $$client | $(BIN)/uv pip compile - --universal --python-version 3.11 \
		--no-header --no-emit-index-url --no-annotate --quiet --output-file tests/clients/$$client.lock || exit; done

schema: install
	$(BIN)/keyheat schema > configs/scenario.schema.json
	$(BIN)/keyheat schema suite > configs/suite.schema.json
	$(BIN)/keyheat schema regression > configs/regression.schema.json
	$(BIN)/keyheat schema faults > configs/faults.schema.json
	$(BIN)/python docs/scenario.py
	$(BIN)/python -m tools.pages

# Strict: a page without a place in the navigation, or a broken link, fails the build. It needs no network.
SITE := reports/out/docs
docs: dev
	$(BIN)/python -m sphinx -q -W --keep-going -c docs . $(SITE)
	cp $(SITE)/README.html $(SITE)/index.html

clean:
	rm -rf $(VENV) $(CLIENTS) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
