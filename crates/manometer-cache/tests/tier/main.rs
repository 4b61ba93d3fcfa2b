//! Arrangements of devices: what each part of the model does, and how it stands beside the cache thesis.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod devices;
mod levels;
mod thesis;
mod traces;
mod wrong;

use std::path::PathBuf;

use manometer_cache::tier::{Arrangement, Load, Outcome, run};

/// Where the arrangements lie that ship.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../arrangements")
}

/// One of them.
fn shipped(name: &str) -> Arrangement {
    Arrangement::load(&folder().join(name).with_extension("toml")).unwrap()
}

/// What an arrangement does under one of its workloads, made for a test: smaller, and for a shorter time.
fn under(arrangement: &Arrangement, workload: &str) -> Outcome {
    run(arrangement, &Load::Workload(arrangement.workloads[workload].clone())).unwrap()
}

/// An arrangement in a form quick enough for a test.
fn small(name: &str) -> Arrangement {
    Arrangement { scale: 256, ..shipped(name) }
}
