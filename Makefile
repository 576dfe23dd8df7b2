# Every target sets up what it needs. `make demo` and `make test` are the two to know.

VENV ?= .venv
PYTHON ?= python3
SECONDS ?= 3600
PY := $(VENV)/bin/python
RUST := $(shell find src -name '*.rs') Cargo.toml Cargo.lock .cargo/config.toml .cargo/lapack.cmake
export PATH := $(abspath $(VENV))/bin:$(PATH)
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

# Debian's packages by the command each one brings.
SYSTEM := cc:gcc cmake:cmake gfortran:gfortran
BROWSER := chromium:chromium chromedriver:chromium-driver
# Files that building the site writes among its sources.
GENERATED := docs/api/generated docs/api/backreferences docs/gallery docs/in-pictures

.PHONY: demo test lint rust-test python-test plugin-test docs fuzz wheel wheel-test bench clean

demo: $(VENV)/.built $(VENV)/.demo
	$(PY) examples/demo.py build/demo.png

test: lint rust-test python-test

lint: $(VENV)/.built $(VENV)/.test $(VENV)/.check
	cargo fmt --check
	cargo clippy --release --locked --features python --all-targets -- -D warnings
	ruff check python tests fuzz benches examples docs
	ruff format --check python tests fuzz benches examples docs
	mypy
	$(PY) -m mypy.stubtest shopca_rs._core

rust-test: $(VENV)/.system
	cargo test --release --locked

python-test: $(VENV)/.built $(VENV)/.test $(VENV)/.browser
	$(PY) -m pytest

# The wheel beside the real libraries, which the other tests leave out where they are missing. They have an environment
# of their own: some of them hold pandas and NumPy back.
plugin-test: wheel
	SHOPCA_PLUGINS=1 .ci/test-wheel dist/*.whl tests/test_neighbor_plugins.py tests/test_onnx.py \
		tests/test_anndata.py tests/test_other_tables.py tests/test_domain_pages.py

# The site, in build/site: examples are run, warnings are errors, links inside it are followed, a browser looks at it.
docs: $(VENV)/.built $(VENV)/.docs
	rm -rf $(GENERATED) build/site
	$(PY) -m sphinx --fail-on-warning --keep-going --quiet docs build/site
	$(PY) docs/check_site.py build/site
	$(PY) docs/check_layout.py build/site

# A short run of the same is among the Python tests.
fuzz: $(VENV)/.built $(VENV)/.test
	$(PY) -m fuzz --seconds $(SECONDS)

# One abi3 wheel for this platform, with the Fortran runtime inside.
wheel: $(VENV)/.system $(VENV)/.build
	rm -rf dist
	maturin build --release --locked --out dist

# The wheel in an empty environment that sees neither Rust nor this source tree.
wheel-test: wheel $(VENV)/.browser
	.ci/test-wheel dist/*.whl

bench: $(VENV)/.built $(VENV)/.test
	$(PY) benches/compare.py

$(VENV)/.built: $(RUST) pyproject.toml $(VENV)/.system $(VENV)/.build
	maturin develop --release --locked
	touch $@

# One set of development requirements: [dependency-groups] in pyproject.toml.
$(VENV)/.test $(VENV)/.check $(VENV)/.build $(VENV)/.demo $(VENV)/.docs: $(VENV)/.%: pyproject.toml | $(VENV)/.pip
	$(PY) -m pip install --quiet --group $*
	touch $@

$(VENV)/.pip:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV) || { $(SUDO) apt-get update && $(SUDO) apt-get install -y python3-venv && $(PYTHON) -m venv $(VENV); }
	$(PY) -m pip install --quiet --upgrade 'pip>=25.1'
	touch $@

$(VENV)/.system $(VENV)/.browser: | $(VENV)/.pip
	@command -v cargo >/dev/null || { echo "A Rust toolchain is needed: see https://rustup.rs"; exit 1; }
	@missing=; for pair in $(if $(filter %.browser,$@),$(BROWSER),$(SYSTEM)); do \
	  command -v $${pair%%:*} >/dev/null || missing="$$missing $${pair##*:}"; done; \
	if [ -n "$$missing" ]; then \
	  echo "installing$$missing"; \
	  $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq $$missing >/dev/null; fi
	@touch $@

clean:
	rm -rf target build dist $(GENERATED) $(VENV)
