# Everything runs in .venv, which the stamp rule makes from constraints.txt: nothing else is needed but
# Python 3.11+, make and git.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
# One thread per process: the test workers share the cores, and results do not depend on their number.
ONE_THREAD := OMP_NUM_THREADS=1
# Worksteal leaves neighbours together, so that fits which tests share are made once and not in both workers.
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal
NUMERICAL := bias check content effect methods neural scale table experiments/test_protocol.py

.DEFAULT_GOAL := help
.PHONY: help demo app test test-plain test-slow lint format types docs bench

help: ## list the commands
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is older than Python 3.11; run make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	@echo "installing into .venv (a few minutes the first time)" >&2
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[app,dev,dask,docs]"
	@touch $@

demo: $(STAMP) ## fit a table with a known injected bias, print truth beside estimate, write demo/report.html
	@$(BIN)/proxycal demo --out demo

app: $(STAMP) ## the local page: calibrate a table without code; stop it with Ctrl-C
	@$(BIN)/proxycal app

test: $(STAMP) ## every test but the slow ones
	$(PYTEST) -m "not slow"

test-plain: $(STAMP) ## the numerical tests as on an old processor: no result may hang on its last digit
	.ci/plain env $(PYTEST) -m "not slow" $(addprefix tests/,$(NUMERICAL))

test-slow: $(STAMP) ## the slow tests: accuracy over seeds
	$(PYTEST) -m slow

lint: $(STAMP) ## ruff: style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(STAMP) ## ruff: fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(STAMP) ## mypy on the package
	$(BIN)/mypy

docs: $(STAMP) ## build the site into site/, warnings are errors; no network is needed
	$(ONE_THREAD) NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict --quiet

bench: $(STAMP) ## quick benchmarks of accuracy, coverage and false alarms (2 minutes each)
	$(BIN)/proxycal bench accuracy --quick
	$(BIN)/proxycal bench coverage --quick
	$(BIN)/proxycal bench null --quick
