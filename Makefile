# Two commands do everything on a fresh machine: `make demo` and `make test`.
# Both make .venv from hashed, pinned requirements first; nothing else on the machine is touched.

PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Without its cache every test process rewrites the assertions of every test file: 15 s of CPU each.
unexport PYTHONDONTWRITEBYTECODE

FAST := --hypothesis-profile=quick -m "not slow and not browser and not sound and not train"

.DELETE_ON_ERROR:  # a .venv that could only half be made is made again

.PHONY: help venv dev train demo test check coverage lint format screenshots trial faults audit soak crowd bench-relays bench bench-voices bench-voice bench-church bench-meaning bench-languages lock wheel wheels wheels-check clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "stark-translate needs Python 3.11 or newer; try: make PYTHON=python3.12 demo"; exit 1; }
	$(PYTHON) -m venv .venv || { echo "Debian and Ubuntu: apt install python3-venv"; exit 1; }

.venv/runtime: requirements.lock requirements-build.lock pyproject.toml wheels/index.html | .venv/bin/python
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements-build.lock
	@. scripts/llama_build.sh && \
	  scripts/timed.sh "Installing what the daemon needs." \
	  scripts/pip.sh --no-build-isolation --find-links wheels/index.html -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	@touch $@

.venv/dev: requirements-dev.lock .venv/runtime
	@scripts/timed.sh "Installing what the tests need." scripts/pip.sh -r requirements-dev.lock
	@touch $@

# Torch is not in the lock: its builds with and without CUDA are different files of one version.
.venv/train: requirements-train.lock .venv/dev
	@scripts/timed.sh "Installing what training and converting models needs." scripts/pip.sh -r requirements-train.lock
	@scripts/timed.sh "Installing torch." $(BIN)/python -m pip install --quiet torch==2.13.0
	@touch $@

# llama.cpp's converter from Hugging Face's format is in no package, but in the source of this one.
.venv/llama.cpp/convert_hf_to_gguf.py: requirements.lock | .venv/dev
	@echo "Fetching llama.cpp's model converter (80 MB)."
	rm -rf $(@D) && mkdir -p $(@D)/source
	sed -n '/^llama-cpp-python==/,/[^\\]$$/p' requirements.lock > $(@D)/requirement.txt
	$(BIN)/python -m pip download --quiet --no-deps --no-binary llama-cpp-python --require-hashes \
	  -r $(@D)/requirement.txt -d $(@D)/source
	tar -xzf $(@D)/source/*.tar.gz -C $(@D) --strip-components=3 --wildcards '*/vendor/llama.cpp/LICENSE' \
	  '*/vendor/llama.cpp/convert_hf_to_gguf.py' '*/vendor/llama.cpp/conversion' '*/vendor/llama.cpp/gguf-py'
	rm -r $(@D)/source
	@touch $@

venv: .venv/runtime  ## Make .venv with what the daemon needs
dev: .venv/dev  ## ... and with what the tests need
train: .venv/train .venv/llama.cpp/convert_hf_to_gguf.py  ## ... and with what the scripts that make models need (torch)

demo: .venv/runtime  ## Play a recorded service through everything: wall, phone and desk in the browser
	$(BIN)/stark-translate demo $(ARGS)

# In the order of the folders, so that the long tests come first and both workers end at about the same time.
test: .venv/dev  ## Run all tests, two files at a time (make test ARGS="-n 0": one after the other)
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

# Many of these tests wait for threads and sockets: four processes keep two cores busy (66 s instead of 82).
check: lint  ## Format, lint, types and the fast tests
	$(BIN)/python -m pytest -q -n 4 $(FAST) $(ARGS)

# By itself: counting branches makes the tests half as slow again. Of the fast tests and no others, so that two people get the same figure.
coverage: .venv/dev  ## Count which branches the fast tests take; fewer than pyproject's bar fail
	$(BIN)/python -m pytest -q -n 2 $(FAST) --cov --cov-report=term:skip-covered $(ARGS)

lint: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/oxlint --deny-warnings --report-unused-disable-directives displays/js

format: .venv/dev  ## Format the code and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

screenshots: .venv/dev  ## Take pictures of the pages into docs/images
	$(BIN)/python -m scripts.docs.screenshots $(ARGS)

trial: .venv/dev  ## Play a volunteer's tasks at the desk, count touches and seconds; every page in every state into build/pages
	$(BIN)/python -m scripts.docs.trial $(ARGS)

faults: .venv/dev  ## Run the fault matrix of docs/RELIABILITY.md and print it with results and times
	$(BIN)/python -m scripts.reliability.faults $(ARGS)

audit: .venv/dev  ## Print what was asked for, row by row, and its tests; ARGS="--run 46" runs a row's
	$(BIN)/python -m scripts.quality.audit $(ARGS)

soak: .venv/dev  ## Eight hours of a church's sound in half an hour, watched for growth
	$(BIN)/python -m scripts.reliability.soak $(ARGS)

crowd: .venv/dev  ## A hall of 450 displays, with 50 abusive clients in it and without (3 minutes)
	$(BIN)/python -m scripts.bench.crowd --markdown docs/BENCHMARKS.md $(ARGS)

bench-relays: .venv/dev  ## A church, a NATS server, two relays and their displays: ARGS="--displays 5000" (2 minutes)
	$(BIN)/python -m scripts.bench.relays $(ARGS)

AGAINST ?= translate.final.engine=marian
against := $(foreach setting,$(AGAINST),--against $(setting))

bench: .venv/dev  ## Measure delay and flicker on the demo texts, starter models (8 minutes); AGAINST="KEY=VALUE ..." is the other setting
	$(BIN)/python -m scripts.bench.latency --glass $(against) --markdown docs/BENCHMARKS.md $(ARGS)

bench-voices: .venv/dev  ## ... with Whisper base on people and on pauses (6 minutes)
	$(BIN)/stark-translate models pull whisper-base
	$(BIN)/python -m scripts.bench.latency --recording pauses voices --recognizer whisper-base $(against) \
	  --markdown docs/BENCHMARKS.md $(ARGS)

bench-voice: .venv/dev  ## ... of the church's voice: how well it is understood, how late it is, what listeners cost (14 minutes)
	$(BIN)/stark-translate models pull kokoro-82m-int8 whisper-base
	$(BIN)/python -m scripts.bench.voice --markdown docs/BENCHMARKS.md $(ARGS)

bench-church: .venv/runtime  ## Measure references and quoted verses: found, missed, wrong (5 minutes)
	$(BIN)/python -m scripts.bench.church --markdown docs/BENCHMARKS.md $(ARGS)

bench-meaning: .venv/runtime  ## Count captions that say something else than the speaker did, and how many are marked (5 minutes)
	$(BIN)/python -m scripts.bench.meaning --markdown docs/BENCHMARKS.md $(ARGS)

bench-languages: .venv/runtime  ## Measure what four caption languages cost against one (5 minutes); ARGS="--final FILE.gguf"
	$(BIN)/python -m scripts.bench.languages --markdown docs/BENCHMARKS.md $(ARGS)

# Where llama.cpp has to be compiled: what wheels/ has none for.
no_wheel := sys_platform != "linux" or (platform_machine != "x86_64" and platform_machine != "aarch64")

lock: .venv/dev  ## Pin the newest versions that fit pyproject.toml
	$(BIN)/uv pip compile -q pyproject.toml --universal --generate-hashes --no-header --no-annotate \
	  --no-emit-index-url --upgrade -o requirements.lock
	printf '%s\n' 'hatchling>=1.27' editables uv 'scikit-build-core>=0.9.2 ; $(no_wheel)' 'cmake ; $(no_wheel)' 'ninja ; $(no_wheel)' | \
	  $(BIN)/uv pip compile -q - --universal --generate-hashes \
	  --no-header --no-annotate --no-emit-index-url --upgrade -c requirements.lock -o requirements-build.lock
	printf '%s\n' 'scikit-build-core>=0.9.2' cmake ninja ziglang | $(BIN)/uv pip compile -q - --universal --generate-hashes \
	  --no-header --no-annotate --no-emit-index-url -c requirements-build.lock -o requirements-wheels.lock
	$(BIN)/uv pip compile -q pyproject.toml --extra dev --universal --generate-hashes --no-header --no-annotate \
	  --no-emit-index-url -c requirements.lock -o requirements-dev.lock
	echo "torch ; sys_platform == 'never'" | $(BIN)/uv pip compile -q pyproject.toml --extra train --universal --generate-hashes --no-header \
	  --no-annotate --no-emit-index-url -c requirements-dev.lock --override - -o requirements-train.lock
	$(BIN)/python -m scripts.wheels.build_llama --pin

.venv/wheels/made: requirements-wheels.lock | .venv/bin/python
	$(PYTHON) -m venv .venv/wheels
	.venv/wheels/bin/python -m pip install --quiet --require-hashes --no-deps -r requirements-wheels.lock
	@touch $@

wheels: .venv/wheels/made  ## Build llama.cpp's wheels anew, with a compiler from the package index
	.venv/wheels/bin/python -m scripts.wheels.build_llama $(ARGS)

wheels-check: .venv/wheels/made  ## ... and compare them, byte by byte, with those in wheels
	.venv/wheels/bin/python -m scripts.wheels.build_llama --check $(ARGS)

wheel: .venv/dev  ## Build the program's wheels into dist: one file to install, without a checkout
	$(BIN)/python -m scripts.wheels.build_own $(ARGS)

clean:  ## Remove everything made here, sessions excepted
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
