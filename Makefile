# The only thing a fresh clone needs is Python 3.11 or newer; everything else goes into .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready
SEED   ?= $(shell date +%Y%m%d)

.DEFAULT_GOAL := help
.PHONY: help dev demo check test test-page torture bench soak man wheel constraints examples clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --no-deps and --no-build-isolation: nothing comes in that constraints.txt has no hash for.
$(STAMP): constraints.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r constraints.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

dev: $(STAMP) ## set up .venv with all tools, the project editable
	@echo "ready: $(BIN)/audit --help"

demo: $(STAMP) ## collect the shipped agent run into a throw-away store and ask it questions
	@$(BIN)/python examples/demo.py

check: $(STAMP) ## lint, format, types, import floors, constraints
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/docs

test: $(STAMP) ## all tests but the torture ones; at most 8 minutes; SEED=N repeats a run
	@echo "seed $(SEED)  (again: make test SEED=$(SEED))"
	PYTHONHASHSEED=0 SANDTRAIL_SEED=$(SEED) $(BIN)/python -m pytest -q -n 2 --dist loadfile --durations=12 -m "not torture and not page" --hypothesis-seed=$(SEED)

test-page: $(STAMP) ## the page in a real headless Chromium; SHOTS=1 writes the pictures of docs/page.md
	tests/page/ready.sh $(BIN)/python
	$(BIN)/python -m pytest -q tests/page

torture: $(STAMP) ## kills, damage and fuzz with full figures; writes docs/guarantees.md
	@echo "seed $(SEED)"
	$(BIN)/python bench/guarantees.py --seed $(SEED)

bench: $(STAMP) ## rate, memory, live latency, start-up; writes bench/RESULTS.md
	$(BIN)/python -c "import detect_secrets" 2> /dev/null \
	  || $(BIN)/python -m pip install --quiet --require-hashes -r constraints-bench.txt
	$(BIN)/python bench/run.py $(BENCH)

soak: $(STAMP) ## half an hour of everything at once; writes bench/SOAK.md
	$(BIN)/python bench/soak.py $(SOAK)

man: $(STAMP) ## write the man pages to build/man, from the text of --help
	$(BIN)/python -m audit.manual build/man

wheel: $(STAMP) ## build dist/*.whl
	rm -rf dist
	$(BIN)/python -m build --wheel --no-isolation

# Versions and hashes only, so that any index can serve them.
PIN := $(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-options --no-header

constraints: $(STAMP) ## renew constraints.txt from pyproject.toml
	$(PIN) --extra dev \
	  --output-file constraints.txt pyproject.toml
	$(PIN) --extra page \
	  --constraint constraints.txt --output-file constraints-page.txt pyproject.toml
	$(PIN) --extra bench \
	  --constraint constraints.txt --output-file constraints-bench.txt pyproject.toml

examples: $(STAMP) ## write the example logs anew (same seed, same bytes)
	$(BIN)/python examples/make_story.py

clean: ## remove .venv and what was built
	rm -rf $(VENV) dist build
