# Two commands: `make tables` and `make test`. The first use of either sets up .venv from the lock file.
SHELL := /bin/bash
.DEFAULT_GOAL := help
CORES ?= all
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export MPLBACKEND := Agg
export LITELLM_LOCAL_MODEL_COST_MAP := True

.PHONY: help setup tables test lint format bench lock docs clean

help:
	@echo "make tables   measure the tasks of config/config.yaml and draw every table and figure (CORES=$(CORES))"
	@echo "make test     run the test suite"
	@echo "make lint     ruff, mypy, snakefmt, snakemake --lint"
	@echo "make bench    measure speed and memory, as one table"
	@echo "make docs     write the generated pages: config/schema.json, docs/config.md, docs/data.md"
	@echo "make clean    remove what killed runs left behind; results stay"

setup: .venv/.ready

.venv/.ready: requirements.lock pyproject.toml
	@python="$$(tools/find-python)" || exit 1; \
	echo "Setting up .venv with $$python (about two minutes)"; \
	"$$python" -m venv --clear .venv && \
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock && \
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . && \
	touch $@

tables: setup
	snakemake --cores $(CORES) --quiet rules reason host $(ARGS)

test: setup
	pytest -n 2 --dist loadfile $(ARGS)

lint: setup
	ruff check .
	ruff format --check .
	mypy
	snakefmt --check Snakefile workflow
	snakemake --lint

format: setup
	ruff check --fix .
	ruff format .
	snakefmt Snakefile workflow

bench: setup
	python tests/bench/bench.py

docs: setup
	python -c "from termdepth.config.load import schema_json; print(schema_json(), end='')" > config/schema.json
	python -c "from termdepth.config.page import document; print(document(), end='')" > docs/config.md
	python -c "from termdepth.data.schema import document; print(document(), end='')" > docs/data.md

# Needs pip-tools. The addresses of indexes stay out of the file.
lock:
	pip-compile --quiet --extra dev --generate-hashes --allow-unsafe --strip-extras --no-annotate --no-header \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --output-file requirements.lock pyproject.toml

clean: setup
	termdepth clean
