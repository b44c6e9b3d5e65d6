# Two commands are all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo runner test lint types bench registry check clean

demo: $(VENV)/installed
	@echo "== install what examples/linux-runner asks for"
	cd examples/linux-runner && ../../$(BIN)/etfetch install
	cd examples/linux-runner && ../../$(BIN)/etfetch list
	@echo "== will the models run?"
	cd examples/linux-runner && ../../$(BIN)/etfetch check
	@echo "== a second run has nothing to do"
	cd examples/linux-runner && ../../$(BIN)/etfetch install
	@if command -v c++ >/dev/null; then \
	  $(MAKE) --no-print-directory runner; \
	else \
	  echo "== no C++ compiler (c++) on PATH: the program was not built"; \
	fi

# The program of examples/linux-runner, on its three models; CMake comes from the package index if need be.
runner:
	@echo "== build the program with what was generated, and run it"
	@command -v cmake >/dev/null || $(BIN)/pip install --quiet --disable-pip-version-check cmake ninja
	cd examples/linux-runner && export PATH="$$PATH:$(abspath $(BIN))" && cmake -S . -B build && cmake --build build
	cd examples/linux-runner && for model in linear_portable linear_xnnpack linear_quantized; do \
	  build/runner models/$$model.pte models/$$model.txt 2>/dev/null || exit 1; \
	done

test: $(VENV)/developing
	$(BIN)/pytest -n auto -m "not registry"

registry: $(VENV)/developing
	$(BIN)/pytest -n auto --dist loadfile -m registry

lint: $(VENV)/developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/developing
	$(BIN)/mypy
	@# What cannot be run here is at least typed: other systems, the newest Python.
	$(BIN)/mypy --platform darwin etfetch
	$(BIN)/mypy --platform win32 etfetch
	$(BIN)/mypy --python-version 3.14 etfetch

bench: $(VENV)/benching
	$(BIN)/python -m benchmarks.run

check: lint types test

clean:
	rm -rf $(VENV) examples/linux-runner/third-party examples/linux-runner/etfetch.lock
	rm -rf examples/linux-runner/build examples/linux-runner/etfetch.cmake
	rm -f examples/linux-runner/etfetch_registration_check.*

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

# Dependency groups (PEP 735) need pip 25.1.
$(VENV)/developing: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/pip install --quiet --disable-pip-version-check --group dev --editable ".[fast]"
	touch $@

$(VENV)/benching: $(VENV)/developing
	$(BIN)/pip install --quiet --disable-pip-version-check --group bench
	touch $@
