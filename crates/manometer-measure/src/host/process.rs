//! One worker process: `/proc/PID/{stat,io}`.

use procfs::process::Process;

use super::{Observer, Rates};
use crate::samples::Column;

#[derive(Debug)]
pub(super) struct Worker {
    source: String,
    process: Option<Process>,
    rates: Rates,
}

impl Worker {
    pub(super) fn new(name: &str, pid: u32) -> Self {
        let process = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok());
        Self { source: format!("process.{name}"), process, rates: Rates::default() }
    }

    fn look(&self) -> Option<(Vec<f64>, [f64; 2])> {
        let process = self.process.as_ref()?;
        let stat = process.stat().ok()?;
        let io = process.io().ok()?;
        let ticks = procfs::ticks_per_second() as f64;
        let counters =
            vec![stat.utime as f64 / ticks, stat.stime as f64 / ticks, io.read_bytes as f64, io.write_bytes as f64];
        Some((counters, [(stat.rss * procfs::page_size()) as f64, stat.num_threads as f64]))
    }
}

impl Observer for Worker {
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
        let Some((counters, gauges)) = self.look() else { return vec![None; 6] };
        let mut row = self.rates.per_second(t_ns, counters);
        row.extend(gauges.map(Some));
        row
    }
}
