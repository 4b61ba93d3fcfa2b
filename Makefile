# Two commands do everything: `make demo` and `make test`.

.NOTPARALLEL:
.PHONY: demo test test-python release program-aarch64 try-release wheel book bench docs gallery notebooks audit soak kernel-test python-checks clear-skipped print-skipped

export ROCKSDB_LIB_DIR := $(shell setup/rocksdb --where)
export ROCKSDB_STATIC := 1
# The extension module finds Python's symbols in the Python that loads it, so no libpython is needed to link it.
export PYO3_BUILD_EXTENSION_MODULE := 1

target := $(or $(CARGO_TARGET_DIR),target)
# Most tests wait for a disk or a clock: three times as many as processors keep those busy.
tests_at_once := $(shell expr 3 \* $$(nproc))
export RUST_TEST_THREADS := $(tests_at_once)
export MANOMETER_SKIPPED_TESTS := $(abspath $(target))/skipped-tests.tsv
python := $(shell setup/python --where)

demo:
	setup/setup build
	@echo "Building Manometer (some minutes the first time) ..."
	cargo build --release --locked --package manometer
	@echo "Running experiments/quick.toml: about two minutes ..."
	cargo run --release --locked --quiet --package manometer -- run experiments/quick.toml

test: clear-skipped
	setup/setup build test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --workspace --locked --no-fail-fast
	$(MAKE) python-checks print-skipped

test-python: clear-skipped
	setup/setup build test
	$(MAKE) python-checks print-skipped

clear-skipped:
	@rm -f $(MANOMETER_SKIPPED_TESTS)

# What did not run and why; with CI=true a cause that docs/testing.md does not allow fails.
print-skipped:
	@tools/skipped_tests.py $(MANOMETER_SKIPPED_TESTS)

# The package as its users have it: the wheel in an environment that holds no sources, with types, tests, notebooks.
python-checks:
	setup/python
	cargo test --workspace --locked --no-run
	rm -rf $(target)/wheels-test $(target)/python-test
	$(python)/bin/maturin build --quiet --profile dev --locked --out $(target)/wheels-test
	$(python)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps $(target)/wheels-test/*.whl
	$(python)/bin/pip check --disable-pip-version-check
	$(python)/bin/zizmor --offline --no-progress --quiet .github action.yml docs/github-actions.yml
	$(python)/bin/ruff check python
	$(python)/bin/ruff format --check python
	PATH="$(python)/bin:$$PATH" pyright
	PATH="$(python)/bin:$$PATH" pyright --verifytypes manometer --ignoreexternal
	PATH="$(abspath $(target))/debug:$(python)/bin:$$PATH" pytest --numprocesses=$(tests_at_once) --basetemp=$(target)/python-test

# Everything of a release, in dist/ below cargo's build directory: docs/installing.md lists it. No path of this
# machine and no date but the commit's is to be in it. RUSTFLAGS of your own take the place of these.
dist := $(target)/dist
cargo_home := $(or $(CARGO_HOME),$(HOME)/.cargo)
release program-aarch64: export RUSTFLAGS ?= --remap-path-prefix=$(cargo_home)=cargo --remap-path-prefix=$(abspath $(target))=target
release wheel program-aarch64: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
release: wheel program-aarch64
	python3 tools/release $(dist)

# One wheel for CPython 3.10 and later: the package, and the program, stripped, with its debug information beside the wheel.
wheel:
	setup/setup build
	setup/python
	rm -rf $(dist)
	cargo build --release --locked --package manometer
	tools/split_debug $(target)/release/manometer $(dist)
	$(python)/bin/maturin build --release --locked --compatibility manylinux_2_35 --out $(dist)/extension
	python3 tools/release/python_wheel.py $(dist)/extension/*.whl $(dist)/manometer $(dist)
	rm -rf $(dist)/extension

# The program for 64-bit ARM, by Debian's cross compiler.
aarch64 := aarch64-unknown-linux-gnu
program-aarch64: export CARGO_BUILD_TARGET := $(aarch64)
program-aarch64: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER := aarch64-linux-gnu-gcc
program-aarch64: export CXX := aarch64-linux-gnu-g++
program-aarch64: export OBJCOPY := aarch64-linux-gnu-objcopy
program-aarch64: export ROCKSDB_LIB_DIR := $(shell CARGO_BUILD_TARGET=$(aarch64) setup/rocksdb --where)
program-aarch64:
	setup/setup release
	cargo build --release --locked --package manometer
	cp $(target)/$(aarch64)/release/manometer $(target)/manometer-aarch64
	tools/split_debug $(target)/manometer-aarch64 $(dist)

# Installs and runs what `make release` wrote as its users would: in fresh Debians without a network.
try-release:
	tools/try_release $(dist)

# The manual as a site with search: site/docs/index.html below cargo's build directory. Pages link to the experiments next to it.
site := $(abspath $(target))/site
book:
	setup/python
	$(python)/bin/mdbook build --dest-dir $(site)/docs
	rm -rf $(site)/experiments
	cp -r experiments $(site)

bench:
	setup/setup build bench
	$(MAKE) wheel
	cargo build --release --locked --package manometer-analysis --example aa
	$(python)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps $(dist)/*.whl
	PYTHON=$(python)/bin/python python3 benches/run.py

# What is generated: the experiment file's JSON Schema, the columns of a recording, the findings, Python's functions of the charts.
docs:
	cargo run --locked --quiet --package manometer -- schema > docs/experiment.schema.json
	cargo run --locked --quiet --package manometer -- schema columns > docs/columns.md
	cargo run --locked --quiet --package manometer -- schema findings > docs/findings.md
	$(python)/bin/python python/tools/generate_plot.py

# Known vulnerabilities of everything, and the crates' licences. The rules: deny.toml and python/audit-ignored.txt.
audit:
	cargo deny --locked check
	tools/audit_python

# The notebooks of the manual, executed and written with their outputs.
notebooks: wheel
	$(python)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps $(dist)/*.whl
	PATH="$(abspath $(target))/release:$$PATH" $(python)/bin/python python/tools/execute_notebooks.py

# Every chart from real recordings and traces in the directory DATA: docs/gallery.md and gallery.html.
gallery: wheel
	$(python)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps $(dist)/*.whl
	PATH="$(abspath $(target))/release:$$PATH" $(python)/bin/python python/tools/generate_gallery.py $(DATA) gallery.html

# The kernel patches: applied, built, and counted. About an hour, apart from `make test`.
kernel-test:
	setup/setup kernel
	kernel/test

# Crashes rlsm often, cuts its power and compares it with a map for long; kills recycle often, cuts its power and compares
# it with an array for long, also under sanitizers; then runs every fuzz target for so many minutes. What a fuzzer finds
# on the way stays out of the corpora that tests replay.
MINUTES ?= 10
soak:
	@cargo +nightly fuzz --version > /dev/null 2>&1 || \
		{ echo "soak needs: rustup toolchain install nightly --component rust-src,miri && cargo install cargo-fuzz"; exit 1; }
	RLSM_CRASHES=20000 RLSM_SEQUENCES=10000 RLSM_POWER_CUTS=2000 \
		cargo test --locked --package rlsm --test integration -- crash:: model:: power::
	ADVISE_REQUESTS=1000000000 cargo test --locked --release --package manometer-cache --test integration -- advise::real
	RECYCLE_SEQUENCES=100 RECYCLE_KILLS=200 RECYCLE_POWER_CUTS=400 cargo test --locked --package recycle --test integration
	tools/sanitize
	KILLS=50 cargo test --workspace --locked --test integration -- outlive::
	DAMAGES=20000 cargo test --workspace --locked --test integration -- damage::a_damaged_file corpus::no_file
	@for target in $$(ls fuzz/corpus); do \
		echo "$$target: $(MINUTES) minutes"; mkdir -p fuzz/target/found/$$target; \
		FUZZ_TARGET=$$target cargo +nightly fuzz run target fuzz/target/found/$$target fuzz/corpus/$$target -- \
			-artifact_prefix=fuzz/artifacts/$$target- \
			-max_total_time=$$((60 * $(MINUTES))) -rss_limit_mb=1024 -timeout=20 -verbosity=0 || exit 1; \
	done
