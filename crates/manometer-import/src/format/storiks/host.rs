//! The host's counters: from `iostat` and `systemstats` in older logs, from the performance monitor in newer ones.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::log::number;
use crate::SampleTable;

/// A column: its name, Storiks' name, its unit, and the conversion factor.
type ColumnMapping<'a> = (&'a str, &'a str, &'a str, f64);

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * 1024.0;

/// `iostat -x`'s columns, in any of its units.
const IOSTAT: [ColumnMapping<'_>; 14] = [
    ("reads", "r/s", "1/s", 1.0),
    ("writes", "w/s", "1/s", 1.0),
    ("discards", "d/s", "1/s", 1.0),
    ("read_bytes", "rkB/s", "B/s", KIB),
    ("write_bytes", "wkB/s", "B/s", KIB),
    ("discard_bytes", "dkB/s", "B/s", KIB),
    ("read_bytes", "rMB/s", "B/s", MIB),
    ("write_bytes", "wMB/s", "B/s", MIB),
    ("discard_bytes", "dMB/s", "B/s", MIB),
    ("read_merges", "rrqm/s", "1/s", 1.0),
    ("write_merges", "wrqm/s", "1/s", 1.0),
    ("queue_time", "aqu-sz", "s/s", 1.0),
    ("busy", "%util", "share", 0.01),
    ("busy", "util", "share", 0.01),
];
/// Wait times: Manometer's are sums over requests, Storiks' are means in milliseconds.
const WAITS: [(&str, &str, &str); 3] =
    [("read_wait", "r/s", "r_await"), ("write_wait", "w/s", "w_await"), ("discard_wait", "d/s", "d_await")];

/// A number, or a number as text.
fn figure(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| number(value.as_str()?))
}

fn field(values: &Map<String, Value>, name: &str) -> Option<f64> {
    values.get(name).and_then(figure)
}

/// The sample series of the host.
#[derive(Debug, Default)]
pub(super) struct Host {
    pub series: BTreeMap<String, SampleTable>,
}

impl Host {
    fn push(&mut self, source: &str, t_ns: u64, from: &str, row: Vec<(&str, &str, f64)>) {
        if !row.is_empty() {
            self.series.entry(source.to_owned()).or_default().push(t_ns, from, row);
        }
    }

    pub fn iostat(&mut self, t_ns: u64, values: &Map<String, Value>) {
        let plain = IOSTAT
            .iter()
            .filter_map(|(ours, theirs, unit, scale)| Some((*ours, *unit, field(values, theirs)? * scale)));
        let waits = WAITS.iter().filter_map(|(ours, rate, wait)| {
            Some((*ours, "s/s", field(values, rate)? * field(values, wait)? / 1000.0))
        });
        self.push("device", t_ns, "iostat", plain.chain(waits).collect());
    }

    /// Utilisation of all processors and of each, in percent.
    pub fn systemstats(&mut self, t_ns: u64, values: &Map<String, Value>) {
        let cores = (0..).take_while(|core| values.contains_key(&format!("cpu[{core}].active"))).count();
        if cores == 0 {
            return;
        }
        let of = |prefix: &str, name: &str| field(values, &format!("{prefix}.{name}")).map(|percent| percent / 100.0);
        let names = ["user", "system", "iowait"];
        let all = names.iter().filter_map(|name| Some((*name, "cores", of("cpus", name)? * cores as f64)));
        self.push("cpu", t_ns, "systemstats", all.collect());
        let columns: Vec<(String, f64)> = (0..cores)
            .flat_map(|core| names.iter().map(move |name| (core, *name)))
            .filter_map(|(core, name)| Some((format!("core{core}.{name}"), of(&format!("cpu[{core}]"), name)?)))
            .collect();
        let row = columns.iter().map(|(name, value)| (name.as_str(), "cores", *value)).collect();
        self.push("cpu.cores", t_ns, "systemstats", row);
    }

    /// Adds a report of the performance monitor. `workload` maps a container to its workload.
    pub fn performance_monitor(
        &mut self,
        t_ns: u64,
        report: &Map<String, Value>,
        workload: impl Fn(&str) -> Option<String>,
    ) {
        let table = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
        let disk = table(report.get("disk"));
        match disk.get("iostat").and_then(Value::as_object) {
            Some(iostat) => self.iostat(t_ns, iostat),
            None => self.diskstats(t_ns, &table(disk.get("diskstats"))),
        }
        self.processors(t_ns, &table(report.get("cpu")));
        let smart = table(report.get("smart"));
        let health = [
            ("utilisation", "utilization", "B"),
            ("temperature", "temperature", "°C"),
            ("percentage_used", "lifetime_percent", "%"),
        ];
        let row = health.iter().filter_map(|(ours, theirs, unit)| Some((*ours, *unit, field(&smart, theirs)?)));
        self.push("health", t_ns, "the performance monitor (SMART)", row.collect());
        if let Some(system) = table(report.get("fs")).values().next().and_then(Value::as_object) {
            let columns = [("size", "total"), ("available", "free")];
            let row = columns.iter().filter_map(|(ours, theirs)| Some((*ours, "B", field(system, theirs)?)));
            self.push("filesystem", t_ns, "the performance monitor", row.collect());
        }
        for (container, values) in &table(report.get("containers")) {
            let Some(workload) = workload(container) else { continue };
            let blkio = table(values.get("blkio"));
            let of = |kind: &str, name: &str| field(blkio.get(kind)?.as_object()?, name);
            let columns = [
                ("read_bytes", "B/s", "service_bytes/s", "Read"),
                ("write_bytes", "B/s", "service_bytes/s", "Write"),
                ("reads", "1/s", "serviced/s", "Read"),
                ("writes", "1/s", "serviced/s", "Write"),
            ];
            let row = columns.iter().filter_map(|(ours, unit, kind, name)| Some((*ours, *unit, of(kind, name)?)));
            self.push(&format!("{workload}.cgroup"), t_ns, "the performance monitor (blkio)", row.collect());
        }
    }

    fn diskstats(&mut self, t_ns: u64, values: &Map<String, Value>) {
        let row = IOSTAT
            .iter()
            .filter_map(|(ours, theirs, unit, scale)| Some((*ours, *unit, field(values, theirs)? * scale)));
        self.push("device", t_ns, "the performance monitor (diskstats)", row.collect());
    }

    fn processors(&mut self, t_ns: u64, cpu: &Map<String, Value>) {
        let Some(cores) = cpu.get("percent").and_then(Value::as_array).filter(|cores| !cores.is_empty()) else {
            return;
        };
        let shares = |percents: &Map<String, Value>| {
            let sum = |names: &[&str]| {
                let known: Vec<f64> = names.iter().filter_map(|name| field(percents, name)).collect();
                (!known.is_empty()).then(|| known.iter().sum::<f64>() / 100.0)
            };
            let all = [
                ("user", sum(&["user", "nice"])),
                ("system", sum(&["system"])),
                ("iowait", sum(&["iowait"])),
                ("interrupts", sum(&["irq", "softirq"])),
                ("steal", sum(&["steal"])),
                ("idle", sum(&["idle"])),
            ];
            all.into_iter().filter_map(|(name, share)| Some((name, share?))).collect::<Vec<_>>()
        };
        let from = "the performance monitor (psutil)";
        if let Some(total) = cpu.get("percent_total").and_then(Value::as_object) {
            let row = shares(total).into_iter().map(|(name, share)| (name, "cores", share * cores.len() as f64));
            self.push("cpu", t_ns, from, row.collect());
        }
        let columns: Vec<(String, f64)> = cores
            .iter()
            .enumerate()
            .filter_map(|(core, percents)| Some((core, shares(percents.as_object()?))))
            .flat_map(|(core, shares)| {
                shares.into_iter().map(move |(name, share)| (format!("core{core}.{name}"), share))
            })
            .collect();
        let row = columns.iter().map(|(name, value)| (name.as_str(), "cores", *value)).collect();
        self.push("cpu.cores", t_ns, from, row);
    }
}
