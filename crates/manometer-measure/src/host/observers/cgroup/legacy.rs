//! The groups of a worker in cgroup v1, one for each controller.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::super::super::kernel_file::{KernelFile, field};
use super::CounterValues;

#[derive(Debug)]
pub(super) struct Files {
    bytes: Option<KernelFile>,
    requests: Option<KernelFile>,
    user: Option<KernelFile>,
    system: Option<KernelFile>,
    cpu: Option<KernelFile>,
    memory: Option<KernelFile>,
    memory_stat: Option<KernelFile>,
    failures: Option<KernelFile>,
    oom: Option<KernelFile>,
}

impl Files {
    pub(super) fn new(groups: &BTreeMap<String, PathBuf>) -> Self {
        let file = |controller: &str, name: &str| groups.get(controller).map(|group| KernelFile::new(group.join(name)));
        Self {
            bytes: file("blkio", "blkio.throttle.io_service_bytes_recursive"),
            requests: file("blkio", "blkio.throttle.io_serviced_recursive"),
            user: file("cpuacct", "cpuacct.usage_user"),
            system: file("cpuacct", "cpuacct.usage_sys"),
            cpu: file("cpu", "cpu.stat"),
            memory: file("memory", "memory.usage_in_bytes"),
            memory_stat: file("memory", "memory.stat"),
            failures: file("memory", "memory.failcnt"),
            oom: file("memory", "memory.oom_control"),
        }
    }

    pub(super) fn read(&mut self, device: Option<&str>) -> CounterValues {
        let (bytes, requests) = (text(&mut self.bytes), text(&mut self.requests));
        let of = |text: &str, what: &str| device.and_then(|device| field(text, &format!("{device} {what}")));
        let mut values = vec![of(bytes, "Read"), of(bytes, "Write"), of(requests, "Read"), of(requests, "Write")];
        values.extend([of(bytes, "Discard"), of(requests, "Discard")]);
        values.extend([&mut self.user, &mut self.system].map(|file| number(file).map(|ns| ns / 1e9)));
        let cpu = text(&mut self.cpu);
        values.extend([field(cpu, "nr_periods"), field(cpu, "nr_throttled")]);
        values.push(field(cpu, "throttled_time").map(|ns| ns / 1e9));
        values.push(number(&mut self.memory));
        let stat = text(&mut self.memory_stat);
        let keys = ["total_rss", "total_cache", "total_dirty", "total_writeback", "total_swap"];
        values.extend(keys.map(|key| field(stat, key)));
        values.extend(["total_workingset_refault_file", "total_pgmajfault"].map(|key| field(stat, key)));
        values.push(None);
        values.push(number(&mut self.failures));
        values.push(field(text(&mut self.oom), "oom_kill"));
        values
    }
}

fn text(file: &mut Option<KernelFile>) -> &str {
    file.as_mut().and_then(KernelFile::read).unwrap_or_default()
}

fn number(file: &mut Option<KernelFile>) -> Option<f64> {
    file.as_mut()?.number()
}
