//! A recording that ships with the program, for `manometer report demo`, Python and the notebooks.

use std::io::{self, Write as _};
use std::path::Path;

use manometer_measure::Directory;

/// Its files by their paths, compiled in.
macro_rules! files {
    ($($name:literal)*) => { &[$(($name, include_bytes!(concat!("../demo/", $name)) as &[u8])),*] };
}

const FILES: &[(&str, &[u8])] = files! {
    "README.md"
    "environment.json"
    "events.jsonl"
    "experiment.toml"
    "latency/primary.hlog"
    "latency/writer.hlog"
    "plan.json"
    "samples/conductor.parquet"
    "samples/cpu.cores.parquet"
    "samples/cpu.parquet"
    "samples/device.parquet"
    "samples/filesystem.parquet"
    "samples/foreign_processes.parquet"
    "samples/interrupts.parquet"
    "samples/memory.parquet"
    "samples/pressure_stall.parquet"
    "samples/primary.engine.parquet"
    "samples/primary.parquet"
    "samples/process.conductor.parquet"
    "samples/process.primary.parquet"
    "samples/process.writer.parquet"
    "samples/vmstat.parquet"
    "samples/writer.engine.parquet"
    "samples/writer.parquet"
};

/// Writes the recording into the directory `folder`, which it creates.
///
/// # Errors
/// The directory exists, or a file cannot be written.
pub fn write_demo(folder: &Path) -> io::Result<()> {
    let (parent, name) = Directory::holding(folder)?;
    let folder = parent.create_directory(name)?;
    for (name, content) in FILES {
        folder.ensure_directory(Path::new(name).parent().unwrap_or(Path::new("")))?;
        folder.create_new(name)?.write_all(content)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use manometer_measure::Recording;
    use manometer_testing::manual::files;
    use manometer_testing::repository_file;

    use super::*;

    #[test]
    fn every_file_of_the_recording_is_compiled_in() {
        let root = repository_file("crates/manometer-report/demo");
        let paths = files("crates/manometer-report/demo", &[""]);
        let there: BTreeSet<String> =
            paths.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect();
        assert_eq!(FILES.iter().map(|(name, _)| (*name).to_owned()).collect::<BTreeSet<_>>(), there);
        assert!(FILES.iter().map(|(_, content)| content.len()).sum::<usize>() < 4 << 20);
    }

    #[test]
    fn it_is_a_complete_recording_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("demo");
        write_demo(&path).unwrap();
        let summary = manometer_analysis::summarise(&Recording::open(&path).unwrap());
        assert_eq!(summary.status, "complete");
        assert!(summary.phases.iter().all(|phase| phase.performance.ci_low.is_some()), "{summary:?}");
        assert!(write_demo(&path).is_err());
    }
}
