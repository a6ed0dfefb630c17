# Two commands do everything on a fresh machine with Python and make:
#   make demo   the main job on real input      make test   every test of everyday use

# Most tests start Python, many times: without byte code on disk each would compile samerun again.
export PYTHONDONTWRITEBYTECODE :=

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test check bench faults frameworks gpu guests thorough no-false-alarm peers docs wheel clean

demo: $(READY)
	@rm -rf .samerun/demo && mkdir -p .samerun/demo && cp examples/digits_cnn.py .samerun/demo/
	@cd .samerun/demo && ../../$(BIN)/samerun check -n 3 -- ../../$(BIN)/python digits_cnn.py; test $$? -eq 1
	@cd .samerun/demo && ../../$(BIN)/samerun check -n 3 --controlled -- ../../$(BIN)/python digits_cnn.py

test: $(READY)
	$(BIN)/pytest -n 2 --dist worksteal -m "not gpu and not slow"

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/check_links.py

wheel: .venv-wheel/.ready  ## the distribution, checked, and installed into clean environments
	rm -rf dist
	.venv-wheel/bin/python -m build
	.venv-wheel/bin/twine check --strict dist/*
	$(BIN)/pytest -m slow tests/test_wheel.py

bench: $(READY)  ## the figures of docs/measured.md
	$(BIN)/python benchmarks/bench_start.py
	$(BIN)/python benchmarks/bench_recording.py
	$(BIN)/python benchmarks/bench_diff.py
	$(BIN)/python benchmarks/bench_loader.py
	$(BIN)/python benchmarks/bench_split.py
	$(BIN)/python benchmarks/bench_ops.py

faults: $(READY)  ## diagnose on scripts with planted faults: what is found, what it takes; under an hour
	$(BIN)/python benchmarks/faults/score.py

frameworks: .venv-frameworks/.ready  ## the table of docs/frameworks.md, the same with frameworks, the fidelity of their loaders
	-.venv-frameworks/bin/python benchmarks/frameworks/run.py --write
	.venv-frameworks/bin/pytest -m slow tests/fidelity/test_frameworks.py tests/integrations/test_framework_*.py tests/integrations/test_ultralytics.py
	.venv-frameworks/bin/python benchmarks/faults/score.py with_

guests: .venv-guests/.ready  ## other people's test suites plain and recorded; clones them into .guests; an hour or two
	.venv-guests/bin/python benchmarks/guests/run.py --write

no-false-alarm: $(READY)  ## check -n 20 on a controlled example at 2 threads, 5 times in a row
	$(BIN)/python benchmarks/no_false_alarm.py

thorough: $(READY)  ## every way to load with workers and ranks, everything that a checkpoint may lack
	$(BIN)/pytest -n 2 -m slow

peers: .venv-peers/.ready  ## what other libraries get wrong, beside samerun; installs them into .venv-peers
	PYTHONPATH=tests .venv-peers/bin/python -m peers

docs: .venv-docs/.ready  ## the pages of docs/ as a site in site/; read it with `python -m http.server -d site`
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --strict

gpu:  ## on a machine with a CUDA device: its tests and benchmarks, in 9 minutes, with the Python and torch found there
	PYTHONPATH=src $(PYTHON) benchmarks/gpu.py --json gpu.json

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,examples]'
	@touch $@

.venv-wheel/.ready: $(READY)
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check build==1.6.1 twine==7.0.0
	@touch $@

# Without torch: the site is made of text alone.
.venv-docs/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

.venv-%/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,examples,$*]'
	@touch $@

clean:
	rm -rf .venv .venv-peers .venv-frameworks .venv-guests .venv-docs .guests .samerun site
