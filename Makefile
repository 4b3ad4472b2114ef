# Everything runs in .venv, which `make install` makes from the lock file. Needs Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo install test test-aws check lint types bench attacks soak accuracy fidelity rules lock schema clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      four scenarios on the local endpoint, four reports, one index page (about 5 minutes)"
	@echo "make install   the environment in .venv, from requirements.lock"
	@echo "make test      every test"
	@echo "make test-aws  what only a real AWS account can show (off otherwise; costs a few cents)"
	@echo "make check     ruff, mypy --strict, and every test"
	@echo "make bench     what each claim of speed is measured with (about 4 minutes)"
	@echo "make attacks   what a hostile neighbour sends, where it takes too long for a test (about a minute)"
	@echo "make soak      20 minutes at 3,000/s with a fault every few seconds: nothing leaks, hangs or is lost"
	@echo "make accuracy  docs/accuracy.md: how often labels are right, on random tables (a few minutes)"
	@echo "make fidelity  docs/fidelity.md: the model held against what others measured"
	@echo "make rules     docs/rules.md and docs/examples/*.txt: every labelling rule, and what its example says"
	@echo "make lock      bring requirements.lock up to date with pyproject.toml"
	@echo "make schema    write configs/*.schema.json from the code"

demo: install
	$(BIN)/keyheat demo

install: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Keyheat needs Python 3.11 or later, and $(PYTHON) is older; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

test: install
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m "not alone"
	$(BIN)/python -m pytest -q -m alone

test-aws: install
	KEYHEAT_TEST_AWS=1 $(BIN)/python -m pytest -q -rs tests/aws

check: lint types test

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

soak: install
	$(BIN)/python -m benchmarks.soak

attacks: install
	$(BIN)/python -m benchmarks.attacks

bench: install
	$(BIN)/python -m benchmarks

accuracy: install
	$(BIN)/keyheat accuracy --seed 31415 --scenarios 1000 --write docs/accuracy.md

fidelity: install
	$(BIN)/python -m tests.calibration.fidelity --write

rules: install
	$(BIN)/python docs/rules.py

lock: install
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
		--no-header --no-emit-index-url --no-annotate --quiet --output-file requirements.lock

schema: install
	$(BIN)/keyheat schema > configs/scenario.schema.json
	$(BIN)/keyheat schema suite > configs/suite.schema.json
	$(BIN)/keyheat schema regression > configs/regression.schema.json

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
