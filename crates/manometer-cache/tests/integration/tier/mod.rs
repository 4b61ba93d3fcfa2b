//! Arrangements of devices: what each part of the model does, and how it compares with dos Santos 2015.

mod arrivals;
mod devices;
mod discards;
mod levels;
pub(crate) mod macro_workloads;
mod ratios;
mod series;
mod thesis;
mod traces;
mod write_back;
mod wrong;

use std::path::PathBuf;
use std::sync::Arc;

use manometer_cache::tier::workload::{BlockOperation, TraceRequest, TraceRequests, TraceSettings};
use manometer_cache::tier::{Arrangement, TierLoad, TierResult, run};
use manometer_testing::repository_file;

/// Where the arrangements lie that ship.
pub(crate) fn folder() -> PathBuf {
    repository_file("arrangements")
}

/// One of them.
pub(crate) fn shipped(name: &str) -> Arrangement {
    Arrangement::load(&folder().join(name).with_extension("toml")).unwrap()
}

/// What an arrangement does under one of its workloads, made for a test: smaller, and for a shorter time.
pub(crate) fn under(arrangement: &Arrangement, workload: &str) -> TierResult {
    run(arrangement, &TierLoad::Workload(arrangement.workloads[workload].clone())).unwrap()
}

/// An arrangement in a form quick enough for a test.
fn small(name: &str) -> Arrangement {
    Arrangement { scale: 256, ..shipped(name) }
}

/// What is requested: where, and how much.
type TestStep = (BlockOperation, u64, u32);

/// What an arrangement does at full size when so many threads request these in turn.
fn run_steps(arrangement: &Arrangement, threads: u32, is_direct: bool, steps: &[TestStep]) -> TierResult {
    let request = |(kind, offset, bytes): &TestStep| TraceRequest {
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
    run(&Arrangement { scale: 1, ..arrangement.clone() }, &TierLoad::Trace(Arc::new(trace), settings)).unwrap()
}
