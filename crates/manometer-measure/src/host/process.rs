//! One worker process: `/proc/PID/{stat,io}`.

use procfs::process::Process;

use super::{Observer, Rates};
use crate::samples::Column;

#[derive(Debug)]
pub(super) struct WorkerProcess {
    source: String,
    process: Option<Process>,
    rates: Rates,
}

impl WorkerProcess {
    pub(super) fn new(name: &str, pid: u32) -> Self {
        let process = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok());
        Self { source: format!("process.{name}"), process, rates: Rates::default() }
    }

    /// Its counters, and its memory and threads; what cannot be seen is missing.
    fn look(&self) -> ([Option<f64>; 4], [Option<f64>; 2]) {
        let stat = self.process.as_ref().and_then(|process| process.stat().ok());
        // Another user's worker keeps its I/O to itself.
        let io = self.process.as_ref().and_then(|process| process.io().ok());
        let ticks = procfs::ticks_per_second() as f64;
        let (stat, io) = (stat.as_ref(), io.as_ref());
        let counters = [
            stat.map(|stat| stat.utime as f64 / ticks),
            stat.map(|stat| stat.stime as f64 / ticks),
            io.map(|io| io.read_bytes as f64),
            io.map(|io| io.write_bytes as f64),
        ];
        let resident = stat.map(|stat| (stat.rss * procfs::page_size()) as f64);
        (counters, [resident, stat.map(|stat| stat.num_threads as f64)])
    }
}

impl Observer for WorkerProcess {
    fn source(&self) -> &str {
        &self.source
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::new("user", "cores"),
            Column::new("system", "cores"),
            Column::new("read_bytes", "B/s"),
            Column::new("write_bytes", "B/s"),
            Column::new("resident", "B"),
            Column::new("threads", ""),
        ]
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let (counters, gauges) = self.look();
        let mut row = self.rates.per_second(t_ns, counters.to_vec());
        row.extend(gauges);
        row
    }
}
