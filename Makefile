# entropyd: every target sets itself up in .venv from pinned, hashed requirements.
#
#   make demo    the whole way, on an emulated Quantis: ends with "demo: ok"
#   make test    everything that can fail, about 20 minutes
#   make run     a development daemon in the foreground
#   make check   format, lint, types, import contracts
#   make bench   figures, as ratios measured side by side
#   make wheels  dist/, from which docs/install.md installs; TARGET_PYTHON=3.12 for another Python

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test check run bench stubs wheels format clean
.DELETE_ON_ERROR:

# Namespaces, mounts and packages are an administrator's tools, which not every PATH has.
demo test: export PATH := $(PATH):/usr/sbin:/sbin

# A browser looks at the page for players.
demo: $(READY)
	./tests/setup chromium
	$(BIN)/python -m entropyd.cli.demo

test: $(READY)
	./tests/setup
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations 15

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python protos/make_stubs.py --check

run: $(READY)
	$(BIN)/entropyd serve --config docs/examples/development.toml

bench: $(READY)
	$(BIN)/python -m bench

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

stubs: $(READY)
	$(BIN)/python protos/make_stubs.py

wheels: $(READY)
	$(BIN)/python wheelhouse.py dist $(TARGET_PYTHON)

# The stamp is written last, so that an interrupted install is done again.
$(READY): requirements.txt pyproject.toml bootstrap
	./bootstrap $(PYTHON) $(VENV)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
