# `make check` is what a change must pass; `make demo` is the main job on samples/.
# Everything runs from .venv, which `make setup` builds once and again when pyproject.toml changes.

VENV   := .venv
READY  := $(VENV)/.ready
BIN    := $(VENV)/bin
PYTHON ?=
EXTRAS ?=
PARALLEL ?= -n auto --dist worksteal
unexport PYTHONDONTWRITEBYTECODE # tests are rewritten before they run, at each run unless kept
PYTHONS := $(or $(PYTHON),python3.13 python3.12 python3.11 python3)

.PHONY: help facts audit setup check lint types contracts budget test test-az test-oldest-sdk oldest-sdk test-rehearsal test-shortcut test-histories test-azurite fix docs tutorials site coverage bench fuzz mutants demo constraints lint-workflows pin release clean

help:
	@echo "make setup     build .venv with everything that the checks need; EXTRAS=azure,emulator for these too"
	@echo "make check     format, lint, types, import contracts, budgets and the tests that are not slow; ALL=1: all tests"
	@echo "make budget    the work of whole commands, counted in function calls; fails over a budget"
	@echo "make test      all tests, the slow ones, too"
	@echo "make test-az   the unmodified az of PyPI on the emulator; installs it in $(VENV)/az, which takes minutes"
	@echo "make test-rehearsal  the table of all rehearsal samples, and many random rehearsals; takes minutes"
	@echo "make test-shortcut   10000 histories of forecasts beside those of the event engine; takes minutes"
	@echo "make test-azurite    leases of blobs beside Azurite, Microsoft's own emulator; installs it with npm in $(VENV)/azurite"
	@echo "make test-histories  300 histories of edits, other people, kills and faults on each backend; takes minutes"
	@echo "make fix       format, and repair what the linter can repair"
	@echo "make docs      write the pages that are made from the program"
	@echo "make tutorials  write what the tutorials and the picture of the README show; takes a minute"
	@echo "make site      the documentation as a site in dist/site; a broken link fails"
	@echo "make coverage  the tests with branch coverage; fails under 95 %"
	@echo "make bench     time mlctl beside its peers, one table; fails where a target is missed"
	@echo "make fuzz      odd documents, flags, files and answers for SECONDS=60; fails on a bug, a hang or 300 MB"
	@echo "make mutants   changes of FILE=mlctl/x.py that the tests of its room do not see; takes minutes"
	@echo "make demo      validate, plan and apply samples/low-priority-batch to the local workspace"
	@echo "make facts     check the tables of dated facts, and ask for prices and retirements anew; OFFLINE=1: check only"
	@echo "make audit     known vulnerabilities and licences of what is installed; asks the package index"
	@echo "make constraints  the versions and hashes that the image and the action install"
	@echo "make lint-workflows  zizmor and actionlint on the action and the workflow that others copy"
	@echo "make pin       let the samples of CI name the commit that is checked out"
	@echo "make release   wheel, source, SBOM and checksums in dist/release; nothing is uploaded"
	@echo "make clean     remove .venv and every cache"

setup: $(READY)

# The first interpreter that runs, is new enough and can make a virtual environment.
$(READY): pyproject.toml
	@set -e; \
	works='import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'; \
	if ! $(BIN)/python -c 'import pip' 2>/dev/null; then \
	  for python in $(PYTHONS); do \
	    if $$python -c "$$works" 2>/dev/null; then found=$$python; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "mlctl needs Python 3.11 or newer with its venv module (on Debian: apt install python3-venv)." >&2; \
	    echo "To name one yourself: make setup PYTHON=/path/to/python3" >&2; \
	    exit 1; \
	  fi; \
	  echo "Building $(VENV) with $$($$found --version)"; \
	  $$found -m venv --clear $(VENV); \
	fi
	@$(BIN)/python -m pip uninstall --quiet --yes mlctl 2>/dev/null # what mlctl-azure was called before
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev$(EXTRAS:%=,%)]'
	@touch $@

# Without the tests that are marked slow; `make check ALL=1`, as CI runs it, with them. What comes
# before the tests runs side by side.
check: $(READY)
	@$(MAKE) --no-print-directory -j $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) lint types contracts budget
	$(BIN)/python -m pytest $(PARALLEL) $(if $(ALL),,-m "not slow")

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/vulture
	$(BIN)/python -m bench.names

types: $(READY)
	$(BIN)/mypy

contracts: $(READY)
	$(BIN)/lint-imports --no-logo

test: $(READY)
	$(BIN)/python -m pytest $(PARALLEL)

# The oldest azure-ai-ml that pyproject.toml takes, before the newest one on the path: the same bodies,
# hashes and plans. What it needs and the newest does not is named.
OLDEST_SDK = 1.28.1
OLDEST = $(VENV)/azure-ai-ml-$(OLDEST_SDK)
$(OLDEST): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(OLDEST) \
	  azure-ai-ml==$(OLDEST_SDK) azure-common six
oldest-sdk: $(OLDEST)
test-oldest-sdk: $(OLDEST)
	PYTHONPATH="$(abspath $(OLDEST))" $(BIN)/python -m pytest -q $(PARALLEL) tests/end_to_end/test_interop_azure.py tests/end_to_end/test_interop_components.py \
	  tests/end_to_end/test_oldest_sdk.py

# Function calls and imported modules of whole commands, beside bench/budgets.toml.
budget: $(READY)
	$(BIN)/python -m bench.budget

# AZ=/path/to/az takes one that is there.
AZ ?= $(VENV)/az/bin/az
test-az: $(READY) $(AZ)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,emulator]'
	MLCTL_TEST_AZ=1 MLCTL_AZ=$(abspath $(AZ)) $(BIN)/python -m pytest -rs tests/end_to_end/test_az.py

# RUNS=1000 makes as many random rehearsals of the first sample.
RUNS ?= 100
test-rehearsal: $(READY)
	MLCTL_TEST_REHEARSAL=$(RUNS) $(BIN)/python -m pytest tests/rehearsal/scoring/test_rehearsal.py -k "not random"
	MLCTL_TEST_REHEARSAL=$(RUNS) $(BIN)/python -m pytest $(PARALLEL) tests/rehearsal/scoring/test_rehearsal.py -k random

$(VENV)/az/bin/az: | $(READY)
	$(BIN)/python -m venv $(VENV)/az
	$(VENV)/az/bin/python -m pip install --quiet --disable-pip-version-check azure-cli

# HISTORIES=10000 compares as many histories of each law with those of the event engine.
test-shortcut: $(READY)
	MLCTL_TEST_HISTORIES=$(or $(HISTORIES),10000) $(BIN)/python -m pytest tests/forecast/shortcut/test_history.py

# AZURITE=/path/to/azurite-blob takes one that is there.
AZURITE ?= $(VENV)/azurite/node_modules/.bin/azurite-blob
test-azurite: $(READY) $(AZURITE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,azure,emulator]'
	MLCTL_TEST_AZURITE=$(abspath $(AZURITE)) $(BIN)/python -m pytest -rs tests/contract/test_leases.py tests/emulator/storage/test_leases.py

$(VENV)/azurite/node_modules/.bin/azurite-blob: | $(READY)
	npm install --silent --no-audit --no-fund --prefix $(VENV)/azurite azurite

# HISTORIES=500 tries as many of each machine, and prints what happened in them.
test-histories: $(READY)
	MLCTL_TEST_HISTORIES=$(or $(HISTORIES),300) $(BIN)/python -m pytest -s $(wildcard tests/properties/test_*_machine.py)

fix: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The pages of docs/, README and changelog as a site in dist/site; a broken link fails.
site: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# What the tutorials and the picture of a terminal show, from what the commands print today.
tutorials: $(READY)
	$(BIN)/python -m docs.made.terminal
	$(BIN)/python -m tests.end_to_end.test_readme

docs: $(READY)
	$(BIN)/python -m docs.generate
	$(BIN)/python -m pytest --quiet --update-cases tests/docs/test_rules_page.py

coverage: $(READY)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(PARALLEL)
	$(BIN)/coverage combine
	$(BIN)/coverage report

# The action and the workflow that others copy, by zizmor and actionlint; CI runs it.
lint-workflows: $(READY)
	@.ci/lint-workflows $(BIN)/python

# Wheel, source, SBOM and checksums in dist/release; CONTRIBUTING.md says what comes before and after.
release: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	@.ci/release $(BIN)/python

# The samples name the commit that is checked out now: after a release, or a change of the action.
pin:
	sed -i -E "s#(mlctl/mlctl@|rev: )[0-9a-f]{40}#\1$$(git rev-parse HEAD)#" samples/ci/github-actions.yml samples/ci/README.md

# Tables of dated facts: their form, and what a network allows to be asked anew, as a diff.
facts: $(READY)
	@$(BIN)/python -m bench.facts $(if $(OFFLINE),--offline)

audit: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[audit]'
	@.ci/audit $(BIN)/python

# Without a package index the table names the peers that are absent.
bench: $(READY)
	-@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m bench.run

# What the image and the action install: versions and hashes, for all platforms.
constraints: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	echo hatchling | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --extra azure --extra emulator --generate-hashes \
	  --custom-compile-command "make constraints" --output-file constraints.txt pyproject.toml -

# Which changes of one module its tests do not see; takes minutes.
mutants: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[mutants]'
	$(BIN)/python -m bench.mutants $(FILE) $(TESTS:%=--tests %)

# `make fuzz SEED=1 CASES=60` always runs the same 60 of each surface. Answers of Azure need EXTRAS=azure.
SECONDS ?= 60
fuzz: $(READY)
	$(BIN)/python -m tests.fuzz $(if $(CASES),--cases $(CASES),--seconds $(SECONDS)) $(SEED:%=--seed %)

# The workspace is .mlctl/local.db: a second run finds everything in place and changes nothing.
demo: $(READY)
	$(BIN)/mlctl validate samples/low-priority-batch
	$(BIN)/mlctl plan samples/low-priority-batch
	$(BIN)/mlctl apply samples/low-priority-batch --yes
	$(BIN)/mlctl plan samples/low-priority-batch

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.* dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
