//! Million requests per second of each policy given, on a trace: `policy_speed TRACE POLICY,… CAPACITY,…`.

use std::path::Path;
use std::time::Instant;

use manometer_cache::PolicySpec;
use manometer_cache::RequestSequence;
use manometer_cache::request::RequestFields;
use manometer_trace::{ReadOptions, open};

#[expect(clippy::print_stdout, clippy::disallowed_methods, clippy::unwrap_used, reason = "it measures by hand")]
fn main() {
    let mut arguments = std::env::args().skip(1);
    let (trace, policies, capacities) =
        (arguments.next().unwrap(), arguments.next().unwrap(), arguments.next().unwrap());
    let begin = Instant::now();
    let mut trace = open(Path::new(&trace), &ReadOptions::default()).unwrap();
    let requests = RequestSequence::read(&mut *trace.reader, RequestFields::NONE).unwrap();
    let millions = requests.len() as f64 / 1e6;
    let seconds = begin.elapsed().as_secs_f64();
    println!("read: {:.1} M/s, {} requests, {} keys", millions / seconds, requests.len(), requests.keys());
    for policy in policies.split(',') {
        let choice: PolicySpec = policy.parse().unwrap();
        for capacity in capacities.split(',') {
            let begin = Instant::now();
            let counters = choice.create(capacity.parse().unwrap(), &requests, false, 1).run(&requests);
            let seconds = begin.elapsed().as_secs_f64();
            println!("{policy} {capacity}: {:.1} M/s, {} misses", millions / seconds, counters.misses);
        }
    }
}
