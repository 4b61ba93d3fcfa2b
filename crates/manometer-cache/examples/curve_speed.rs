//! LRU's curve of a trace, exact and from samples: `curve_speed TRACE CAPACITY,… [rate=R|keys=N] …`.

use std::path::Path;
use std::time::Instant;

use manometer_cache::curve::{CurveOptions, curves};
use manometer_cache::sampling::Sampling;
use manometer_trace::{ReadOptions, open};

#[expect(clippy::print_stdout, clippy::disallowed_methods, clippy::unwrap_used, reason = "it measures by hand")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let capacities: Vec<u64> = arguments[1].split(',').map(|text| text.parse().unwrap()).collect();
    let policies = ["lru".parse().unwrap()];
    let mut exact = Vec::new();
    for way in std::iter::once("whole").chain(arguments[2..].iter().map(String::as_str)) {
        let sampling = match way.split_once('=') {
            Some(("rate", rate)) => Sampling::Rate(rate.parse().unwrap()),
            Some((_, keys)) => Sampling::Keys(keys.parse().unwrap()),
            None => Sampling::Full,
        };
        let mut worst = vec![0.0_f64; capacities.len()];
        let (mut outside, mut seconds, mut rate) = (0, 0.0, 0.0);
        let seeds = if way == "whole" { 1 } else { 10 };
        for seed in 1..=seeds {
            let begin = Instant::now();
            let mut trace = open(Path::new(&arguments[0]), &ReadOptions::default()).unwrap();
            let wanted = CurveOptions {
                by_size: false,
                capacities: capacities.clone(),
                sampling: Some(sampling),
                windows: None,
                seed,
            };
            let drawn = curves(&mut *trace.reader, &policies, &wanted).unwrap();
            let curve = &drawn.curves[0];
            seconds += begin.elapsed().as_secs_f64() / f64::from(seeds as u32);
            rate = drawn.requests as f64 / 1e6 / seconds;
            if exact.is_empty() {
                exact = curve.points.clone();
                println!("{:?}", exact.iter().map(|point| point.miss_ratio).collect::<Vec<_>>());
            }
            for (at, (point, exact)) in curve.points.iter().zip(&exact).enumerate() {
                let off = (point.miss_ratio - exact.miss_ratio).abs();
                worst[at] = worst[at].max(off);
                outside += u32::from(off > point.error.unwrap_or(0.0) + 1e-9);
            }
        }
        println!(
            "{way}: {seconds:.2} s, {rate:.1} M/s, worst {worst:.4?}, outside {outside} of {}",
            seeds * capacities.len() as u64
        );
    }
}
