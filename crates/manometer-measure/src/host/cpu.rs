//! Processors: `/proc/stat`.

use procfs::{CurrentSI as _, KernelStats};

use super::{Observer, Rates};
use crate::samples::Column;

#[derive(Debug, Default)]
pub(super) struct Cpu(Rates);

impl Observer for Cpu {
    fn source(&self) -> &str {
        "cpu"
    }

    fn columns(&self) -> Vec<Column> {
        let cores = ["user", "system", "iowait", "interrupts", "steal", "idle"];
        let mut columns: Vec<Column> = cores.iter().map(|name| Column::new(*name, "cores")).collect();
        columns.push(Column::new("context_switches", "1/s"));
        columns.push(Column::new("running_processes", ""));
        columns
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let Ok(stat) = KernelStats::current() else { return vec![None; 8] };
        let total = &stat.total;
        let ticks = procfs::ticks_per_second() as f64;
        let interrupts = total.irq.zip(total.softirq).map(|(hard, soft)| hard + soft);
        let spent = [
            Some(total.user + total.nice),
            Some(total.system),
            total.iowait,
            interrupts,
            total.steal,
            Some(total.idle),
        ];
        let mut counters: Vec<Option<f64>> =
            spent.iter().map(|spent| spent.map(|spent| spent as f64 / ticks)).collect();
        counters.push(Some(stat.ctxt as f64));
        let mut row = self.0.per_second(t_ns, counters);
        row.push(stat.procs_running.map(f64::from));
        row
    }
}
