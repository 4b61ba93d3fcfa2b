//! Throughput of a trace's replay next to that of a stationary synthetic load.

use serde::Serialize;

use super::estimate::Estimate;
use crate::statistics::moments::mean;

/// The synthetic load whose properties do not change: the workload of YCSB.
pub const STATIONARY: &str = "ycsb";

/// One run of one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThroughputRun {
    /// The load: the trace, or [`STATIONARY`].
    pub load: String,
    /// Threads that sent requests.
    pub threads: u32,
    /// The number of the repeat, from 1.
    pub repeat: u32,
    /// Requests per second of the whole run.
    pub ops_per_s: f64,
    /// Requests per second, interval by interval.
    pub series: Vec<f64>,
    /// Requests that failed.
    pub errors: u64,
}

/// Both loads with one number of threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThroughputResult {
    /// The number of threads.
    pub threads: u32,
    /// Requests per second of the trace's replay.
    pub trace: Estimate,
    /// Requests per second of the stationary load.
    pub stationary: Estimate,
    /// The replay's throughput divided by that of the stationary load, paired by repeat; the mean is geometric.
    pub ratio: Estimate,
    /// The standard deviation over intervals divided by the mean, of the replay, averaged over repeats.
    pub trace_variation: Option<f64>,
    /// The same of the stationary load.
    pub stationary_variation: Option<f64>,
}

/// The comparison of throughputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Throughput {
    /// The engine.
    pub engine: String,
    /// The length of an interval in seconds.
    pub interval_s: f64,
    /// The share of reads of the stationary load.
    pub read_share: f64,
    /// The records of the stationary load.
    pub records: u64,
    /// The size of its values in bytes.
    pub value_bytes: u64,
    /// The exponent of its Zipf distribution.
    pub exponent: f64,
    /// The results by number of threads.
    pub results: Vec<ThroughputResult>,
    /// Every run.
    pub runs: Vec<ThroughputRun>,
}

/// The results of `runs` of the trace, named `trace`, and of the stationary load.
pub fn throughput_results(runs: &[ThroughputRun], trace: &str) -> Vec<ThroughputResult> {
    let mut threads: Vec<u32> = runs.iter().map(|run| run.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let result = |threads: u32| {
        let of = |load: &str| runs.iter().filter(|run| run.threads == threads && run.load == load).collect::<Vec<_>>();
        let (own, stationary) = (of(trace), of(STATIONARY));
        let rates = |runs: &[&ThroughputRun]| runs.iter().map(|run| run.ops_per_s).collect::<Vec<_>>();
        let variation =
            |runs: &[&ThroughputRun]| mean(&runs.iter().filter_map(|run| variation(&run.series)).collect::<Vec<_>>());
        let ratio = |run: &&ThroughputRun| {
            let other = stationary.iter().find(|other| other.repeat == run.repeat)?;
            Some(run.ops_per_s / other.ops_per_s)
        };
        ThroughputResult {
            threads,
            trace: Estimate::of(&rates(&own)),
            stationary: Estimate::of(&rates(&stationary)),
            ratio: Estimate::of_ratios(&own.iter().filter_map(ratio).collect::<Vec<_>>()),
            trace_variation: variation(&own),
            stationary_variation: variation(&stationary),
        }
    };
    threads.into_iter().map(result).collect()
}

/// The standard deviation divided by the mean; `None` for fewer than two values.
fn variation(series: &[f64]) -> Option<f64> {
    let mean = mean(series).filter(|mean| *mean > 0.0 && series.len() > 1)?;
    let squares: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (series.len() - 1) as f64).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughputs_are_paired_by_repeat() {
        let run = |load: &str, threads, repeat, ops_per_s: f64| ThroughputRun {
            load: load.to_owned(),
            threads,
            repeat,
            ops_per_s,
            series: vec![0.9 * ops_per_s, 1.1 * ops_per_s],
            errors: 0,
        };
        let runs = [
            run("trace", 1, 1, 100.0),
            run("trace", 1, 2, 400.0),
            run(STATIONARY, 1, 1, 200.0),
            run(STATIONARY, 1, 2, 800.0),
            run("trace", 10, 1, 50.0),
        ];
        let [one, ten] = &throughput_results(&runs, "trace")[..] else { panic!() };
        assert_eq!((one.threads, one.trace.mean, one.stationary.mean), (1, Some(250.0), Some(500.0)));
        assert!((one.ratio.mean.unwrap() - 0.5).abs() < 1e-12 && (one.ratio.ci_high.unwrap() - 0.5).abs() < 1e-9);
        assert!((one.trace_variation.unwrap() - 0.1 * 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!((ten.stationary.mean, ten.ratio.mean, ten.stationary_variation), (None, None, None));
    }
}
