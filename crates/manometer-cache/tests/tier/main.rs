//! Arrangements of devices: what each part of the model does, and how it stands beside the cache thesis.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arrivals;
mod devices;
mod discards;
mod levels;
mod thesis;
mod traces;
mod wrong;

use std::path::PathBuf;
use std::sync::Arc;

use manometer_cache::tier::workload::{TraceKind, TraceRequest, TraceRequests, TraceSettings};
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

/// What is asked for: where, and how much.
type Asked = (TraceKind, u64, u32);

/// What an arrangement does at full size when so many threads ask for these in turn.
fn asked(arrangement: &Arrangement, threads: u32, is_direct: bool, steps: &[Asked]) -> Outcome {
    let request = |(kind, offset, bytes): &Asked| TraceRequest {
        time_ns: 0,
        offset: *offset,
        bytes: *bytes,
        stream: 0,
        kind: *kind,
    };
    let requests: Vec<TraceRequest> = steps.iter().map(request).collect();
    let end = requests.iter().map(|request| request.offset + u64::from(request.bytes)).max().unwrap();
    let trace =
        TraceRequests { requests, bytes: end.next_multiple_of(1 << 20), streams: 1, ..TraceRequests::default() };
    let settings = TraceSettings { threads: Some(threads), is_direct };
    run(&Arrangement { scale: 1, ..arrangement.clone() }, &Load::Trace(Arc::new(trace), settings)).unwrap()
}
