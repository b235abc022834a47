# Everything runs in .venv, which is made from requirements/ (exact versions, with the hashes of their files):
# nothing else is needed but Python 3.11+, make and git. It grows as commands need more: `make demo` installs
# the package, `make app` the page as well, the others all extras and tools.
PYTHON ?= python3
BIN := .venv/bin
EVERYTHING := .[app,dask,scale,paper,word,sql,models]
# One thread per process: the test workers share the cores, and results do not depend on their number.
ONE_THREAD := OMP_NUM_THREADS=1
# The install leaves byte-compiling to the first import, so the result must be kept.
export PYTHONDONTWRITEBYTECODE :=
# Worksteal leaves neighbours together, so that fits which tests share are made once and not in both workers.
# Shiny's plugin for tests of its apps would load all of it in every process, and no test uses it.
PYTEST := -m pytest -n 2 --dist worksteal -p no:shiny-test
# What decides numbers. `make test-plain` runs these a second time.
NUMERICAL := tests/mixture tests/effect tests/methods tests/scale/test_fit.py tests/test_model.py

.DEFAULT_GOAL := help
.PHONY: help demo app test test-slow test-plain test-configurations test-r test-wheel lint format types docs dist bench fuzz fuzz-long

help: ## list the commands
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

# Most of the time of an install is byte-compiling files that are never imported; Python compiles the others
# on their first import. An editable install has no file to hash, so it is a step of its own, which finds all
# but torch (see scripts/lock.py) installed.
PIP := $(BIN)/python -m pip install -qq --no-compile --disable-pip-version-check
define install
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo "error: $(PYTHON) is older than Python 3.11; run make PYTHON=/path/to/python3.11" >&2; exit 1; }
@test -x $(BIN)/pip || $(PYTHON) -m venv .venv
@echo "installing $(1) into .venv" >&2
@$(PIP) --require-hashes -r requirements/$(2).txt
@$(PIP) --no-build-isolation -c constraints.txt -e "$(1)"
endef

LOCKED := pyproject.toml constraints.txt $(wildcard requirements/*.txt)

.venv/.package: $(LOCKED)
	$(call install,.,package)
	@touch $@

.venv/.app: $(LOCKED)
	$(call install,.[app],app)
	@touch .venv/.package $@

.venv/.everything: $(LOCKED)
	$(call install,$(EVERYTHING),everything)
	@touch .venv/.package .venv/.app $@

demo: .venv/.package ## fit a table with a known injected bias, print truth beside estimate, write demo/report.html
	@$(BIN)/proxycal demo --out demo

app: .venv/.app ## the local page: calibrate a table without code; stop it with Ctrl-C
	@$(BIN)/proxycal app

test: .venv/.everything ## every test but the slow ones, and every docstring example
	$(ONE_THREAD) $(BIN)/python $(PYTEST) -m "not slow"

test-slow: .venv/.everything ## the slow tests: accuracy over seeds, the wheel in an empty environment
	$(ONE_THREAD) $(BIN)/python $(PYTEST) -m slow

test-plain: .venv/.everything ## the numerical tests as on an old processor: results must not depend on it
	$(ONE_THREAD) $(BIN)/python scripts/plain_cpu.py $(PYTEST) -m "not slow" $(NUMERICAL)

test-configurations: .venv/.everything ## tests of answers in other configurations: pieces of 7 rows, polars, saved, ...
	$(BIN)/python scripts/configurations.py

test-r: .venv/.everything ## the R package: the digits of Python, and R CMD check (skipped where R is not there)
	$(ONE_THREAD) $(BIN)/python -m pytest -rs tests/r

fuzz: .venv/.everything ## random tables: what must hold of every answer, in 2,000 fits (stopped, it goes on)
	$(ONE_THREAD) $(BIN)/proxycal bench invariants --resume

fuzz-long: .venv/.everything ## the same in 20,000 fits: hours; what is finished is kept in .bench/
	$(ONE_THREAD) $(BIN)/proxycal bench invariants-long --resume

test-wheel: .venv/.everything ## the wheel in an empty environment, without torch
	$(BIN)/python -m pytest tests/test_wheel.py

lint: .venv/.everything ## ruff: style and formatting; bandit: habits that are unsafe
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/bandit -q -r src -c pyproject.toml

format: .venv/.everything ## ruff: fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: .venv/.everything ## mypy on the package
	$(BIN)/mypy

docs: .venv/.everything ## build the site into site/, warnings are errors; no network is needed
	$(ONE_THREAD) NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict --quiet

# Built by the time of the commit, the wheel of a commit is the same to the bit wherever it is built.
dist: .venv/.everything ## wheel, source archive and bill of materials in dist/, checked for a package index
	rm -rf dist build
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	mkdir -p dist/about && $(BIN)/python scripts/sbom.py dist/about/proxycal.cdx.json

bench: .venv/.everything ## quick benchmarks of accuracy, coverage and false alarms (2 minutes each)
	$(BIN)/proxycal bench accuracy --quick
	$(BIN)/proxycal bench coverage --quick
	$(BIN)/proxycal bench null --quick
