//! The group of a worker in cgroup v2.

use std::path::Path;

use super::super::super::kernel_file::{KernelFile, field};
use super::super::pressure_stall::total_s;
use super::{CounterValues, stalls};

#[derive(Debug)]
pub(super) struct Files {
    io: KernelFile,
    cpu: KernelFile,
    memory: KernelFile,
    memory_stat: KernelFile,
    swap: KernelFile,
    events: KernelFile,
    stalls: [(&'static str, KernelFile); 3],
}

impl Files {
    pub(super) fn new(group: &Path) -> Self {
        let file = |name: &str| KernelFile::new(group.join(name));
        Self {
            io: file("io.stat"),
            cpu: file("cpu.stat"),
            memory: file("memory.current"),
            memory_stat: file("memory.stat"),
            swap: file("memory.swap.current"),
            events: file("memory.events"),
            stalls: ["cpu", "io", "memory"].map(|resource| (resource, file(&format!("{resource}.pressure")))),
        }
    }

    pub(super) fn read(&mut self, device: Option<&str>) -> CounterValues {
        let mut values = io(self.io.read(), device).to_vec();
        let cpu = self.cpu.read().unwrap_or_default();
        let seconds = |key: &str| field(cpu, key).map(|microseconds| microseconds / 1e6);
        values.extend([seconds("user_usec"), seconds("system_usec")]);
        values.extend([field(cpu, "nr_periods"), field(cpu, "nr_throttled"), seconds("throttled_usec")]);
        values.push(self.memory.number());
        let memory = self.memory_stat.read().unwrap_or_default();
        values.extend(["anon", "file", "file_dirty", "file_writeback"].map(|key| field(memory, key)));
        values.push(self.swap.number());
        values.extend(["workingset_refault_file", "pgmajfault"].map(|key| field(memory, key)));
        let events = self.events.read().unwrap_or_default();
        values.extend(["high", "max", "oom_kill"].map(|key| field(events, key)));
        for (resource, file) in &mut self.stalls {
            let text = file.read().unwrap_or_default();
            let lines = stalls().filter(|(wanted, ..)| wanted == resource);
            values.extend(lines.map(|(_, line, _)| total_s(text, line)));
        }
        values
    }
}

/// Bytes read and written, reads, writes, bytes discarded, discards; 0 for a device that the group has not used.
fn io(stat: Option<&str>, device: Option<&str>) -> [Option<f64>; 6] {
    let (Some(stat), Some(device)) = (stat, device) else { return [None; 6] };
    let line = stat.lines().find_map(|line| line.strip_prefix(device)?.strip_prefix(' ')).unwrap_or_default();
    ["rbytes=", "wbytes=", "rios=", "wios=", "dbytes=", "dios="].map(|key| {
        let number = line.split_ascii_whitespace().find_map(|word| word.strip_prefix(key));
        number.map_or(Some(0.0), |number| number.parse().ok())
    })
}
