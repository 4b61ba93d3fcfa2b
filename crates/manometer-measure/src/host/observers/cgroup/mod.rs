//! The control group of a worker that has its own: the counters of all its processes.

mod find;
mod legacy;
mod unified;

use super::super::block_device::BlockDevice;
use super::super::observer::{Observer, ObserverKind, Subject, boxed};
use super::super::rates::{RateCalculator, RawValue};
use super::pressure_stall::STALLS;
use crate::samples::Column;

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "<workload>.cgroup",
    description: "The control group of a worker that has its own, of cgroup v2 or v1. cgroup v1 counts I/O only below an I/O limit.",
    columns,
    create: |subject| match *subject {
        Subject::Worker { workload, pid, device } => boxed([WorkerCgroup::new(workload, pid, device)]),
        _ => Vec::new(),
    },
};

/// The columns of both versions: name, unit, meaning, file in v2, file in v1.
const COLUMNS: [(&str, &str, &str, &str, &str); 22] = [
    ("read_bytes", "B/s", "Bytes read from the device.", "io.stat", "blkio.throttle.io_service_bytes_recursive"),
    ("write_bytes", "B/s", "Bytes written to the device.", "io.stat", "blkio.throttle.io_service_bytes_recursive"),
    ("reads", "1/s", "Reads of the device.", "io.stat", "blkio.throttle.io_serviced_recursive"),
    ("writes", "1/s", "Writes to the device.", "io.stat", "blkio.throttle.io_serviced_recursive"),
    ("discard_bytes", "B/s", "Bytes discarded on the device.", "io.stat", "blkio.throttle.io_service_bytes_recursive"),
    ("discards", "1/s", "Discards on the device.", "io.stat", "blkio.throttle.io_serviced_recursive"),
    ("user", "cores", "Processor time in user mode.", "cpu.stat", "cpuacct.usage_user"),
    ("system", "cores", "Processor time in the kernel.", "cpu.stat", "cpuacct.usage_sys"),
    ("periods", "1/s", "Periods of the processor limit.", "cpu.stat", "cpu.stat"),
    ("throttled_periods", "1/s", "Periods in which the limit was reached.", "cpu.stat", "cpu.stat"),
    ("throttled", "s/s", "Time for which the limit throttled the group.", "cpu.stat", "cpu.stat"),
    ("memory", "B", "Memory, page cache included.", "memory.current", "memory.usage_in_bytes"),
    ("memory_anonymous", "B", "Anonymous memory.", "memory.stat", "memory.stat"),
    ("memory_file", "B", "Page cache.", "memory.stat", "memory.stat"),
    ("memory_dirty", "B", "Page cache waiting to be written.", "memory.stat", "memory.stat"),
    ("memory_writeback", "B", "Page cache being written.", "memory.stat", "memory.stat"),
    ("swap", "B", "Memory in swap space.", "memory.swap.current", "memory.stat"),
    ("refaults", "pages/s", "Evicted file pages that were read again.", "memory.stat", "memory.stat"),
    ("major_faults", "1/s", "Page faults that needed I/O.", "memory.stat", "memory.stat"),
    (
        "high_events",
        "1/s",
        "Times that the group was throttled at its soft memory limit (`memory.high`).",
        "memory.events",
        "",
    ),
    ("max_events", "1/s", "Times that the group reached its memory limit.", "memory.events", "memory.failcnt"),
    ("oom_kills", "1/s", "Processes killed for lack of memory.", "memory.events", "memory.oom_control"),
];

/// The pressure stalls that v2 has for a group.
fn stalls() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    STALLS.into_iter().filter(|(resource, ..)| *resource != "irq")
}

pub(super) fn columns() -> Vec<Column> {
    let column = |(name, unit, meaning, unified, legacy): (&str, &str, &str, &str, &str)| {
        let from = if legacy.is_empty() { format!("{unified} (v2)") } else { format!("{unified} (v2), {legacy} (v1)") };
        Column::new(name, unit).meaning(meaning).from(from)
    };
    let stall = |(resource, line, meaning): (&str, &str, &str)| {
        let meaning = format!("In the group: {}{}", meaning[..1].to_lowercase(), &meaning[1..]);
        Column::new(format!("{resource}.{line}"), "share").meaning(meaning).from(format!("{resource}.pressure (v2)"))
    };
    COLUMNS.into_iter().map(column).chain(stalls().map(stall)).collect()
}

/// A value for each column of [`COLUMNS`] and each stall, from one kind of hierarchy.
type CounterValues = Vec<Option<f64>>;

#[derive(Debug)]
pub(super) struct WorkerCgroup {
    source: String,
    pid: u32,
    device: Option<String>,
    found: Option<Hierarchies>,
    rates: RateCalculator,
}

/// The files of the worker's own groups.
#[derive(Debug)]
struct Hierarchies {
    unified: Option<unified::Files>,
    legacy: Option<legacy::Files>,
}

impl WorkerCgroup {
    /// The group of the process `pid`, which runs the workload `name` on `device`.
    pub(super) fn new(name: &str, pid: u32, device: Option<&BlockDevice>) -> Self {
        // The kernel accounts I/O to whole disks.
        let disk = device.and_then(|device| BlockDevice::at(&device.disk_sysfs()));
        let device = disk.map(|disk| format!("{}:{}", disk.major, disk.minor));
        Self { source: format!("{name}.cgroup"), pid, device, found: None, rates: RateCalculator::default() }
    }

    /// The worker's own group. The counters of a group that it shares with the conductor say nothing about the worker.
    fn find(&self) -> Option<Hierarchies> {
        let groups = find::own_groups(self.pid)?;
        let unified = groups.unified.as_deref().map(unified::Files::new);
        let legacy = (!groups.legacy.is_empty()).then(|| legacy::Files::new(&groups.legacy));
        Some(Hierarchies { unified, legacy })
    }
}

impl Observer for WorkerCgroup {
    fn series(&self) -> &str {
        &self.source
    }

    fn columns(&self) -> Vec<Column> {
        columns()
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        if self.found.is_none() {
            self.found = self.find();
        }
        let Some(found) = &mut self.found else { return Vec::new() };
        let device = self.device.as_deref();
        let unified = found.unified.as_mut().map(|files| files.read(device)).unwrap_or_default();
        let legacy = found.legacy.as_mut().map(|files| files.read(device)).unwrap_or_default();
        let columns = columns();
        let value = |index: usize| {
            let of = |values: &CounterValues| values.get(index).copied().flatten();
            of(&unified).or_else(|| of(&legacy))
        };
        let raw = |(index, column): (usize, &Column)| match column.unit.as_str() {
            "B" => RawValue::Gauge(value(index)),
            _ => RawValue::Counter(value(index)),
        };
        let raws = columns.iter().enumerate().map(raw).collect();
        self.rates.rates(t_ns, raws)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use manometer_testing::{Cause, skip};

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn observer(found: Hierarchies) -> WorkerCgroup {
        let device = Some("8:0".to_owned());
        WorkerCgroup {
            source: "writer.cgroup".to_owned(),
            pid: 1,
            device,
            found: Some(found),
            rates: RateCalculator::default(),
        }
    }

    fn at(row: &[Option<f64>], wanted: &str) -> Option<f64> {
        row[columns().iter().position(|column| column.name == wanted).unwrap()]
    }

    fn write(dir: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            fs::write(dir.join(name), text).unwrap();
        }
    }

    #[test]
    fn a_group_of_v2_has_io_processors_memory_and_stalls() {
        let dir = tempfile::tempdir().unwrap();
        let stall = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        write(
            dir.path(),
            &[
                ("io.stat", "8:16 rbytes=9 wbytes=9 rios=9 wios=9 dbytes=0 dios=0\n"),
                ("cpu.stat", "usage_usec 3\nuser_usec 1000000\nsystem_usec 2\nnr_throttled 1\nthrottled_usec 0\n"),
                ("memory.current", "4096\n"),
                ("memory.stat", "anon 1\nfile 2\nfile_dirty 3\nfile_writeback 4\nworkingset_refault_file 10\n"),
                ("memory.events", "low 0\nhigh 1\nmax 2\noom 0\noom_kill 0\n"),
                ("io.pressure", stall),
            ],
        );
        let mut group = observer(Hierarchies { unified: Some(unified::Files::new(dir.path())), legacy: None });
        group.sample(SECOND_NS);
        let stalled = stall.replace("total=0", "total=250000");
        write(
            dir.path(),
            &[
                (
                    "io.stat",
                    "8:16 rbytes=9 wbytes=9 rios=9 wios=9 dbytes=0 dios=0\n8:0 rbytes=4096 wbytes=0 rios=1 wios=0\n",
                ),
                ("cpu.stat", "usage_usec 3\nuser_usec 1500000\nsystem_usec 2\nnr_throttled 3\nthrottled_usec 250000\n"),
                ("io.pressure", &stalled),
            ],
        );
        let row = group.sample(2 * SECOND_NS);
        assert_eq!(at(&row, "read_bytes"), Some(4096.0));
        assert_eq!(at(&row, "write_bytes"), Some(0.0));
        assert_eq!(at(&row, "user"), Some(0.5));
        assert_eq!(at(&row, "throttled"), Some(0.25));
        assert_eq!(at(&row, "throttled_periods"), Some(2.0));
        assert_eq!(at(&row, "memory"), Some(4096.0));
        assert_eq!(at(&row, "memory_dirty"), Some(3.0));
        assert_eq!(at(&row, "max_events"), Some(0.0));
        assert_eq!(at(&row, "io.full"), Some(0.25));
        assert_eq!(at(&row, "cpu.some"), None, "the file is not there");
    }

    #[test]
    fn a_group_of_v1_has_the_counters_of_its_controllers() {
        let dir = tempfile::tempdir().unwrap();
        let bytes = "blkio.throttle.io_service_bytes_recursive";
        write(
            dir.path(),
            &[
                (bytes, "8:0 Read 0\n8:0 Write 0\n8:0 Discard 0\n8:0 Total 0\nTotal 0\n"),
                ("cpuacct.usage_user", "1000000000\n"),
                ("cpu.stat", "nr_periods 1\nnr_throttled 0\nthrottled_time 0\n"),
                ("memory.usage_in_bytes", "8192\n"),
                ("memory.stat", "rss 1\ntotal_rss 7\ntotal_cache 5\n"),
            ],
        );
        let controllers = ["blkio", "cpu", "cpuacct", "memory"].map(|name| (name.to_owned(), dir.path().to_owned()));
        let legacy = Some(legacy::Files::new(&BTreeMap::from(controllers)));
        let mut group = observer(Hierarchies { unified: None, legacy });
        group.sample(SECOND_NS);
        write(
            dir.path(),
            &[
                (bytes, "8:16 Read 1\n8:0 Read 0\n8:0 Write 8192\n8:0 Discard 0\n8:0 Total 8192\nTotal 8192\n"),
                ("cpuacct.usage_user", "1250000000\n"),
                ("cpu.stat", "nr_periods 11\nnr_throttled 5\nthrottled_time 500000000\n"),
            ],
        );
        let row = group.sample(2 * SECOND_NS);
        assert_eq!(at(&row, "write_bytes"), Some(8192.0));
        assert_eq!(at(&row, "reads"), None, "the file is not there");
        assert_eq!(at(&row, "user"), Some(0.25));
        assert_eq!((at(&row, "periods"), at(&row, "throttled")), (Some(10.0), Some(0.5)));
        assert_eq!((at(&row, "memory"), at(&row, "memory_anonymous")), (Some(8192.0), Some(7.0)));
        assert_eq!(at(&row, "io.some"), None);
    }

    #[test]
    fn a_group_that_vanishes_is_a_gap_until_it_is_back() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("writer");
        let files = [("memory.current", "4096\n"), ("io.stat", "8:0 rbytes=1 wbytes=0 rios=1 wios=0\n")];
        fs::create_dir(&folder).unwrap();
        write(&folder, &files);
        let mut group = observer(Hierarchies { unified: Some(unified::Files::new(&folder)), legacy: None });
        assert_eq!(at(&group.sample(SECOND_NS), "memory"), Some(4096.0));
        // A file of a real group fails once the group is gone; one on disk must be opened again to do so.
        fs::remove_dir_all(&folder).unwrap();
        group.found = Some(Hierarchies { unified: Some(unified::Files::new(&folder)), legacy: None });
        let row = group.sample(2 * SECOND_NS);
        assert!(!row.is_empty() && row.iter().all(Option::is_none));
        fs::create_dir(&folder).unwrap();
        write(&folder, &files);
        assert_eq!(at(&group.sample(3 * SECOND_NS), "memory"), Some(4096.0));
    }

    #[test]
    fn a_group_that_is_shared_with_the_conductor_is_not_recorded() {
        let mut own = WorkerCgroup::new("self", std::process::id(), None);
        assert!(own.sample(SECOND_NS).is_empty());
    }

    /// A child in a separate group, both gone when dropped.
    struct Isolated {
        child: std::process::Child,
        group: std::path::PathBuf,
    }

    impl Isolated {
        /// `None` if this host does not allow creating a group.
        fn new() -> Option<Self> {
            let mounts = procfs::process::Process::myself().unwrap().mountinfo().unwrap().0;
            let mount = mounts.into_iter().find(|mount| mount.fs_type == "cgroup2")?;
            let group = mount.mount_point.join(format!("manometer-observe-test-{}", std::process::id()));
            fs::create_dir(&group).ok()?;
            let child = std::process::Command::new("sleep").arg("900").spawn().unwrap();
            let isolated = Self { child, group };
            fs::write(isolated.group.join("cgroup.procs"), isolated.child.id().to_string()).ok()?;
            Some(isolated)
        }

        fn end(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
            // A group is busy until the kernel has taken its last process out.
            while fs::remove_dir(&self.group).is_err_and(|error| error.kind() == std::io::ErrorKind::ResourceBusy) {
                std::thread::yield_now();
            }
        }
    }

    impl Drop for Isolated {
        fn drop(&mut self) {
            self.end();
        }
    }

    #[test]
    fn a_real_group_is_found_and_a_gap_once_it_is_removed() {
        let Some(mut isolated) = Isolated::new() else {
            skip(Cause::CgroupV2, "no group can be created");
            return;
        };
        let mut group = WorkerCgroup::new("writer", isolated.child.id(), None);
        let row = group.sample(SECOND_NS);
        assert_eq!(row.len(), columns().len());
        let found = group.found.as_ref().unwrap();
        assert!(found.unified.is_some());
        isolated.end();
        let row = group.sample(2 * SECOND_NS);
        assert!(!row.is_empty() && row.iter().all(Option::is_none), "{row:?}");
    }
}
