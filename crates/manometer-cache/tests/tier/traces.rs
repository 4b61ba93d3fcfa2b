//! Traces that are replayed on an arrangement.

use std::sync::Arc;

use manometer_cache::tier::workload::{TraceRequests, TraceSettings, read_trace};
use manometer_cache::tier::{Load, Outcome, run};
use manometer_trace::{ReadOptions, open_stream};

use super::shipped;

fn requests(text: &str) -> TraceRequests {
    let mut trace = open_stream(Box::new(std::io::Cursor::new(text.to_owned())), &ReadOptions::default()).unwrap();
    read_trace(&mut *trace.reader, 4096).unwrap()
}

fn replayed(name: &str, trace: TraceRequests, threads: Option<u32>) -> Outcome {
    let settings = TraceSettings { threads, is_direct: false };
    let arrangement = manometer_cache::tier::Arrangement { scale: 1, ..shipped(name) };
    run(&arrangement, &Load::Trace(Arc::new(trace), settings)).unwrap()
}

#[test]
fn requests_of_devices_lie_side_by_side_whatever_their_offsets() {
    // Times in units of 100 ns, as the format has them; offsets that no page begins at.
    let text = "128166372003061629,hm,1,Read,383496192000,32768,100\n\
                128166372013061629,hm,1,Write,1234567,512,100\n\
                128166372023061629,hm,0,Read,1234567,512,100\n";
    let trace = requests(text);
    let told: Vec<(u64, u32)> = trace.requests.iter().map(|request| (request.time_ns, request.bytes)).collect();
    assert_eq!(told, [(0, 32768), (1_000_000_000, 512), (2_000_000_000, 512)]);
    assert_eq!(trace.bytes, 3 << 20);
    assert!(trace.requests.iter().all(|request| request.offset + u64::from(request.bytes) <= trace.bytes));
    assert_ne!(trace.requests[1].offset, trace.requests[2].offset);
    let outcome = replayed("1h", trace, None);
    assert_eq!(outcome.requests, 3);
    assert!((2.0..2.1).contains(&outcome.seconds), "{}", outcome.seconds);
}

#[test]
fn objects_lie_one_after_the_other() {
    let trace = requests("time,key,size,op\n0,a,100,get\n1,b,5000,put\n2,a,9000,get\n3,a,100,delete\n");
    let told: Vec<(u64, u32)> = trace.requests.iter().map(|request| (request.offset, request.bytes)).collect();
    assert_eq!(told, [(0, 100), (4096, 5000), (0, 4096), (0, 100)]);
    assert_eq!(trace.bytes, 4096 + 8192);
    let outcome = replayed("dmcache-1s-1h", trace, Some(2));
    assert_eq!((outcome.requests, outcome.ram_hit_ratio.is_some()), (4, true));
}

#[test]
fn a_trace_without_times_needs_threads() {
    let settings = TraceSettings { threads: None, is_direct: false };
    let load = Load::Trace(Arc::new(requests("7\n0\n7\n")), settings);
    let error = run(&shipped("1h"), &load).unwrap_err().to_string();
    assert!(error.contains("does not tell when"), "{error}");
    assert_eq!(replayed("1h", requests("7\n0\n7\n"), Some(1)).requests, 3);
}

#[test]
fn a_trace_that_needs_more_than_there_is_is_refused() {
    let mut trace = requests("time,key,size,op\n0,a,100,get\n");
    trace.bytes = 1 << 50;
    let settings = TraceSettings { threads: Some(1), is_direct: false };
    let error = run(&shipped("1h"), &Load::Trace(Arc::new(trace), settings)).unwrap_err().to_string();
    assert!(error.contains("the origin has"), "{error}");
}
