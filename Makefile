# What people do with this folder. Works with GNU make 3.81, which macOS brings.
# Everything installed goes to .venv, all data to var/ (or ASSENT_DATA_DIR).

PYTHON ?= python3
PORT   ?= 8000
VENV   ?= .venv

PY  := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input
INSTALL := $(PY) scripts/install.py

# Where Dolt, PostgreSQL and Redis are installed, their clients join; where they cannot be compiled, pip says why.
SERVERS_IF_FOUND = ! $(PY) tests/services.py --check 2>/dev/null || \
	$(MAKE) --no-print-directory server-environment || true

UV_VERSION := 0.13.8
LOCK := $(VENV)/bin/uv pip compile --universal --python-version 3.11 --generate-hashes \
	--no-emit-package assent-client --no-emit-index-url --no-annotate --custom-compile-command "make lock" --quiet $(LOCK_FLAGS)

.DEFAULT_GOAL := help
.PHONY: help setup run test test-all test-integrations check coverage torture lint bench bench-compare bench-merge soak fuzz format client texts pictures lock environment server-environment remake

help: ## show this list
	@echo "Assent: agents propose changes to what they remember about a person, people approve them."
	@echo
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  PORT=8000  PYTHON=python3  ASSENT_DATA_DIR=var   (docs/settings.md has every setting)"

# -- for people -----------------------------------------------------------------------------------

setup: environment ## create the environment and both databases
	@ASSENT_DEBUG=1 $(PY) manage.py prepare

# The demo's agent has proposals that wait: with the usual cap, the fourth that somebody tries would be refused.
run: environment ## start Assent with demo data on http://127.0.0.1:8000 (PORT=… for another)
	@ASSENT_DEBUG=1 ASSENT_PUBLIC_URL=$${ASSENT_PUBLIC_URL:-http://127.0.0.1:$(PORT)} \
	  ASSENT_PENDING_CAP=$${ASSENT_PENDING_CAP:-40} \
	  exec $(PY) manage.py serve --demo --port $(PORT)

# -- for those who change it ----------------------------------------------------------------------

test: environment $(VENV)/dev.stamp ## run the tests, on DoltLite and, where `dolt` is found, on servers (ARGS='--leg server -k …')
	@$(SERVERS_IF_FOUND)
	@exec $(PY) tests/run.py $(ARGS)

test-all: environment $(VENV)/dev.stamp ## run every test, with coverage, torture and agent frameworks: for the night
	@$(SERVERS_IF_FOUND)
	@failed=; for part in "tests/run.py --all" "tests/torture/run.py" "tests/integrations/run.py"; do \
	  $(PY) $$part || failed="$$failed $$part"; done; test -z "$$failed" || { echo "FAILED:$$failed" >&2; exit 1; }

check: lint ## lint, types, layers, the tests of the client and of pure functions: a minute
	@$(PY) -m pytest -q -p no:cacheprovider -c clients/python/pyproject.toml clients/python/tests
	@exec $(PY) tests/run.py --leg embedded --quick $(ARGS)

test-integrations: environment $(VENV)/dev.stamp ## run Assent inside agent frameworks, each in an environment of its own (ARGS='mcp_sdk -- -k stdio')
	@exec $(PY) tests/integrations/run.py $(ARGS)

coverage: environment $(VENV)/dev.stamp ## the same, and print by folder how much of the code they run (ARGS as for test)
	@$(SERVERS_IF_FOUND)
	@exec $(PY) tests/run.py --coverage $(ARGS)

torture: environment $(VENV)/dev.stamp ## kill, hang and fill up a running site for minutes, and count what is lost (ARGS='--leg server')
	@$(SERVERS_IF_FOUND)
	@exec $(PY) tests/torture/run.py $(ARGS)

lint: environment $(VENV)/dev.stamp ## check formatting, likely mistakes, types and layers
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	ASSENT_DEBUG=1 ASSENT_DATA_DIR=$(VENV)/mypy $(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

texts: environment ## find the texts of pages and modules for every language in locale/, and compile them (needs gettext)
	ASSENT_DEBUG=1 $(PY) manage.py makemessages --no-wrap --no-obsolete --add-location=file \
	  $(patsubst locale/%/LC_MESSAGES,--locale %,$(wildcard locale/*/LC_MESSAGES)) \
	  $(patsubst %,--ignore %,$(VENV) tests benchmarks clients examples docs)
	@set -e; for po in $$(find locale -name '*.po'); do msgfmt --check --output-file $${po%.po}.mo $$po; done

pictures: environment $(VENV)/dev.stamp ## make the pictures of the README anew, from the demo
	@exec $(PY) tests/pictures.py

format: $(VENV)/dev.stamp ## format the code and fix what can be fixed mechanically
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: environment ## measure proposing, approving, Review and diffs
	@$(SERVERS_IF_FOUND)
	@exec $(PY) benchmarks/run.py $(ARGS)

bench-compare: environment ## measure calls beside a bare view's, and show in red what became worse (ARGS='--keep' keeps it)
	@exec $(PY) benchmarks/run.py --leg embedded --part beside --compare $(ARGS)

bench-merge: environment ## merge made-up and real changes of documents beside git, and count what comes out right
	@exec $(PY) -m benchmarks.merging $(ARGS)

soak: environment ## run a server under load for ten minutes and show what grows (ARGS='--minutes 1 --leg server --check')
	@$(SERVERS_IF_FOUND)
	@exec $(PY) benchmarks/soak.py $(ARGS)

fuzz: $(VENV)/fuzz.stamp ## call the whole agent API with generated data, for some minutes (ARGS='--seed 7 -n 50')
	@exec $(PY) tests/fuzz_api.py $(ARGS)

client: environment ## write the part of the Python client that follows from the registry of tools
	@ASSENT_DEBUG=1 $(PY) manage.py client_code

lock: $(VENV)/made-with ## resolve pyproject.toml into locks/ again (LOCK_FLAGS=--upgrade for newer versions)
	@test -x $(VENV)/bin/uv || $(PIP) install --quiet uv==$(UV_VERSION)
	$(LOCK) pyproject.toml -o locks/runtime.txt
	$(LOCK) pyproject.toml --extra server -c locks/runtime.txt -o locks/server.txt
	$(LOCK) pyproject.toml --extra server --extra saml -c locks/server.txt -o locks/saml.txt
	$(LOCK) pyproject.toml --extra test --extra lint -c locks/runtime.txt -o locks/dev.txt
	$(LOCK) pyproject.toml --extra test --extra fuzz -c locks/dev.txt -o locks/fuzz.txt
	@set -e; for folder in $(dir $(wildcard tests/integrations/*/requirements.in)); do \
	  $(LOCK) $${folder}requirements.in -o locks/integrations/$$(basename $$folder).txt; done

# -- the environment ------------------------------------------------------------------------------
# A stamp is made after an installation succeeded, so an interrupted one is simply done again.

environment: $(VENV)/bin/memory

server-environment: $(VENV)/server.stamp

# Made again when its Python is gone (an upgrade of the system) or another one is named.
ifneq ($(shell test -x $(PY) && echo there),there)
$(VENV)/made-with: remake
else ifeq ($(origin PYTHON),command line)
ifneq ($(PYTHON),$(shell cat $(VENV)/made-with 2>/dev/null))
$(VENV)/made-with: remake
endif
endif

$(VENV)/made-with:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "There is no $(PYTHON) here: install Python 3.11 or newer, or name yours, for example" \
	       "\`make run PYTHON=/usr/bin/python3\`." >&2; exit 1; }
	@$(PYTHON) scripts/check_python.py
	@echo "[1/4] creating the environment in $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@echo "$(PYTHON)" > $@

$(VENV)/runtime.stamp: locks/runtime.txt $(VENV)/made-with
	@echo "[2/4] installing what Assent needs (a minute or two the first time)"
	@$(INSTALL) locks/runtime.txt --only-binary :all:
	@touch $@

# The command is a script of the client, which imports from its folder, and finds the memory of this installation by an
# entry point of the project. Both are made offline, from what is installed; the client comes second, since an older
# project had the script and takes it along when it is replaced.
$(VENV)/bin/memory: pyproject.toml clients/python/pyproject.toml $(VENV)/runtime.stamp
	@$(PIP) install --quiet --no-deps --no-build-isolation --no-index -e .
	@$(PIP) install --quiet --no-deps --no-build-isolation --no-index -e clients/python
	@touch $@

$(VENV)/dev.stamp: locks/dev.txt $(VENV)/runtime.stamp
	@echo "installing what tests and checks need"
	@$(INSTALL) locks/dev.txt --only-binary :all:
	@touch $@

$(VENV)/fuzz.stamp: locks/fuzz.txt $(VENV)/dev.stamp
	@echo "installing schemathesis"
	@$(INSTALL) locks/fuzz.txt --only-binary :all:
	@touch $@

$(VENV)/server.stamp: locks/server.txt $(VENV)/runtime.stamp
	@echo "installing the database clients of the server edition (compiles: needs libmariadb-dev and pkg-config)"
	@$(INSTALL) locks/server.txt
	@touch $@
