# Both targets start from nothing: they create .venv and install the pinned versions.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PROFILE ?= standard
CHROMIUM ?= chromium

.PHONY: verify report regret picture readme test lint benchmarks clean

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[test]'
	touch $@

verify: $(VENV)/installed
	$(BIN)/lpcb verify --profile $(PROFILE) --out reports/latest

report: verify
	cp reports/latest/report.md reports/latest/report.html reports/

# The full regret figure, reports/regret.*: some forty minutes of processor time.
regret: $(VENV)/installed
	$(BIN)/python -m verification.regret_study --out reports --jobs 2

# The README's picture, from the committed report; and what the README shows under its commands.
picture:
	$(CHROMIUM) --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,900 \
		--screenshot=$(CURDIR)/docs/summary.png file://$(CURDIR)/reports/report.html

readme: $(VENV)/installed
	$(BIN)/python -m tests.support.readme

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
