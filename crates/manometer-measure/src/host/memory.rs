//! Memory: `/proc/meminfo`.

use procfs::{Current as _, Meminfo};

use super::Observer;
use crate::samples::Column;

#[derive(Debug)]
pub(super) struct Memory;

impl Observer for Memory {
    fn source(&self) -> &str {
        "memory"
    }

    fn columns(&self) -> Vec<Column> {
        let names = ["total", "free", "available", "cached", "dirty", "writeback", "swap_used"];
        names.iter().map(|name| Column::new(*name, "B")).collect()
    }

    fn sample(&mut self, _: u64) -> Vec<Option<f64>> {
        let Ok(memory) = Meminfo::current() else { return vec![None; 7] };
        let swap_used = memory.swap_total.saturating_sub(memory.swap_free);
        [
            Some(memory.mem_total),
            Some(memory.mem_free),
            memory.mem_available,
            Some(memory.cached),
            Some(memory.dirty),
            Some(memory.writeback),
            Some(swap_used),
        ]
        .map(|bytes| bytes.map(|bytes| bytes as f64))
        .to_vec()
    }
}
