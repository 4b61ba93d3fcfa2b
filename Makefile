# Two commands do everything: `make demo` and `make test`.

.PHONY: demo test bench docs soak

export ROCKSDB_LIB_DIR := $(shell setup/rocksdb --where)
export ROCKSDB_STATIC := 1

demo:
	setup/setup build
	@echo "Building Manometer (five minutes the first time) ..."
	cargo build --release --locked --package manometer
	@echo "Running experiments/quick.toml: about two minutes ..."
	cargo run --release --locked --quiet --package manometer -- run experiments/quick.toml

test:
	setup/setup build test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --workspace --locked

bench:
	setup/setup build bench
	cargo build --release --locked --package manometer
	cargo build --release --locked --package manometer-analysis --example aa
	python3 benches/run.py

# The generated parts of the manual: the experiment file's JSON Schema, and the columns of a recording.
docs:
	cargo run --locked --quiet --package manometer -- schema > docs/experiment.schema.json
	cargo run --locked --quiet --package manometer -- schema columns > docs/columns.md

# Crashes rlsm often, cuts its power and compares it with a map for long, then runs every fuzz target for so many
# minutes; what a fuzzer finds on the way stays out of the corpora that tests replay.
MINUTES ?= 10
soak:
	@cargo +nightly fuzz --version > /dev/null 2>&1 || \
		{ echo "soak needs: rustup toolchain install nightly && cargo install cargo-fuzz"; exit 1; }
	RLSM_CRASHES=20000 RLSM_SEQUENCES=10000 RLSM_POWER_CUTS=2000 \
		cargo test --locked --package rlsm --test crash --test model --test power
	@for target in $$(cargo +nightly fuzz list); do \
		echo "$$target: $(MINUTES) minutes"; mkdir -p fuzz/target/found/$$target; \
		cargo +nightly fuzz run $$target fuzz/target/found/$$target fuzz/corpus/$$target -- \
			-max_total_time=$$((60 * $(MINUTES))) -rss_limit_mb=1024 -timeout=20 -verbosity=0 || exit 1; \
	done
