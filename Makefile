# Both targets start from nothing: they create .venv and install the pinned versions.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: verify report regret test lint benchmarks clean

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[test]'
	touch $@

verify: $(VENV)/installed
	$(BIN)/lpcb verify --profile standard --out reports/latest

report: verify
	cp reports/latest/report.md reports/latest/report.html reports/

# The full regret figure, reports/regret.*: some minutes.
regret: $(VENV)/installed
	$(BIN)/python -m verification.regret_study --out reports --jobs 2

test: $(VENV)/installed
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

benchmarks: $(VENV)/installed
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[benchmarks]'
	$(BIN)/python -m tests.benchmarks

clean:
	rm -rf $(VENV) reports/latest
