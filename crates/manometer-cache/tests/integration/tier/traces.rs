//! Traces that are replayed on an arrangement.

use std::sync::Arc;

use manometer_cache::tier::workload::{TraceRequests, TraceSettings, read_trace};
use manometer_cache::tier::{TierLoad, TierResult, run};
use manometer_trace::{ReadOptions, open_stream};

use super::shipped;

fn requests(text: &str) -> TraceRequests {
    let mut trace = open_stream(Box::new(std::io::Cursor::new(text.to_owned())), &ReadOptions::default()).unwrap();
    read_trace(&mut *trace.reader, 4096).unwrap()
}

fn replayed(name: &str, trace: TraceRequests, threads: Option<u32>) -> TierResult {
    let settings = TraceSettings { threads, is_direct: false };
    let arrangement = manometer_cache::tier::Arrangement { scale: 1, ..shipped(name) };
    run(&arrangement, &TierLoad::Trace(Arc::new(trace), settings)).unwrap()
}

#[test]
fn requests_of_devices_lie_side_by_side_whatever_their_offsets() {
    // Times in units of 100 ns, as the format has them; offsets that no page begins at.
    let text = "128166372003061629,hm,1,Read,383496192000,32768,100\n\
                128166372013061629,hm,1,Write,1234567,512,100\n\
                128166372023061629,hm,0,Read,1234567,512,100\n";
    let trace = requests(text);
    let found: Vec<(u64, u32)> = trace.requests.iter().map(|request| (request.time_ns, request.bytes)).collect();
    assert_eq!(found, [(0, 32768), (1_000_000_000, 512), (2_000_000_000, 512)]);
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
    let found: Vec<(u64, u32)> = trace.requests.iter().map(|request| (request.offset, request.bytes)).collect();
    assert_eq!(found, [(0, 100), (4096, 5000), (0, 4096), (0, 4096)]);
    assert_eq!(trace.bytes, 4096 + 8192);
    let outcome = replayed("dmcache-1s-1h", trace, Some(2));
    assert_eq!((outcome.requests, outcome.ram_hit_ratio.is_some()), (4, true));
}

#[test]
fn requests_that_are_cut_are_counted() {
    let trace = requests("time,key,size,op\n0,a,100,get\n1,a,9000,get\n2,b,2000000000,put\n3,a,4000,get\n");
    assert_eq!((trace.outgrown, trace.too_long), (1, 1));
    assert_eq!(trace.requests[2].bytes, 1 << 30);
}

#[test]
fn a_trace_without_times_needs_threads() {
    let settings = TraceSettings { threads: None, is_direct: false };
    let load = TierLoad::Trace(Arc::new(requests("7\n0\n7\n")), settings);
    let error = run(&shipped("1h"), &load).unwrap_err().to_string();
    assert!(error.contains("has no times"), "{error}");
    assert_eq!(replayed("1h", requests("7\n0\n7\n"), Some(1)).requests, 3);
}

#[test]
fn a_trace_that_needs_more_than_there_is_is_refused() {
    let mut trace = requests("time,key,size,op\n0,a,100,get\n");
    trace.bytes = 1 << 50;
    let settings = TraceSettings { threads: Some(1), is_direct: false };
    let error = run(&shipped("1h"), &TierLoad::Trace(Arc::new(trace), settings)).unwrap_err().to_string();
    assert!(error.contains("the origin has"), "{error}");
}

#[test]
fn runs_are_sequential_whichever_threads_send_them() {
    let line =
        |disk: u32, offset: u64| format!("{},hm,{disk},Read,{offset},65536,100\n", 128166372003061629_u64 + offset);
    // Two programs read 16 MiB each, side by side on one device; a third reads as much of another at random.
    let scans = (0..256_u64).map(|at| line(1, at / 2 * 65536 + at % 2 * (1 << 30))).collect::<String>();
    let random = (0..256_u64).map(|at| line(0, at * 97 % 256 * 3 * 65536)).collect::<String>();
    let bypassed = |text: &str| {
        let trace = Arc::new(requests(text));
        let settings = TraceSettings { threads: Some(8), is_direct: true };
        let mut arrangement = manometer_cache::tier::Arrangement { scale: 1, ..shipped("bcache-1s-1h") };
        let cache = arrangement.cache.as_mut().unwrap();
        (cache.congested, cache.sequential.as_mut().unwrap().bytes) = (None, Some("1MiB".parse().unwrap()));
        run(&arrangement, &TierLoad::Trace(trace, settings)).unwrap().bypassed.unwrap()
    };
    // All but the first MiB of each, in blocks of 4 KiB.
    assert_eq!(bypassed(&scans), 2 * (128 - 15) * 16);
    assert_eq!(bypassed(&random), 0);
}

#[test]
fn objects_that_lie_side_by_side_are_no_run() {
    let text: String = (0..2000).map(|at| format!("{at},key{at},65536,get\n")).collect();
    let trace = requests(&format!("time,key,size,op\n{text}"));
    let outcome = replayed("bcache-1s-1h", trace, Some(1));
    assert_eq!(outcome.bypassed, Some(0));
}

#[test]
fn a_request_takes_from_when_it_was_due() {
    // All come at once, and more than are under way at a time.
    let line = |at: u64| format!("128166372003061629,hm,1,Read,{},4096,100\n", at * 7919 % 3000 * (1 << 20));
    let outcome = replayed("1h", requests(&(0..3000).map(line).collect::<String>()), None);
    let mean_of_all = outcome.latency_mean_us / (outcome.seconds * 1e6);
    assert!((0.45..0.55).contains(&mean_of_all), "{mean_of_all}");
}
