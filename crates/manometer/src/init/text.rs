//! The experiment file.

use std::path::Path;
use std::thread::available_parallelism;

use manometer_measure::host::environment;
use manometer_measure::human;

use super::SCHEMA;
use super::answers::{Answers, BLOCK_S, WARMUP_S};
use super::neighbour::NeighbourKind;

/// The length of a record of YCSB in bytes: ten fields of 100.
const RECORD_BYTES: u64 = 1000;
/// The most client threads; more would measure the processors.
const MAX_THREADS: usize = 4;

/// The experiment to write.
pub(super) struct Experiment {
    pub(super) answers: Answers,
    /// The rounds of an interleaved plan.
    pub(super) rounds: u32,
}

impl Experiment {
    pub(super) fn text(&self) -> String {
        let Answers { engine, neighbour, .. } = &self.answers;
        let question = match neighbour {
            NeighbourKind::None => format!("How fast and how steady is {} alone on this disk?", engine.name),
            other => format!("What does {} lose to {} on the same disk?", engine.name, other.about()),
        };
        let name = match neighbour {
            NeighbourKind::None => format!("{} alone", engine.name),
            other => format!("{} with {}", engine.name, other.about()),
        };
        let parts = [
            format!("#:schema ./{SCHEMA}\n# {question}\n{}\n", self.host()),
            format!("name = {}\ninterval = \"200ms\"\n", quoted(&name)),
            self.device(),
            self.primary(),
            self.neighbour(),
            self.plan(),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The host that it was written for.
    fn host(&self) -> String {
        let directory = nearest(&self.answers.directory);
        let environment = environment::describe(directory);
        let number = |pointer: &str| environment.pointer(pointer).and_then(serde_json::Value::as_u64);
        let text =
            |pointer: &str| environment.pointer(pointer).and_then(serde_json::Value::as_str).unwrap_or("unknown");
        let bytes = |pointer: &str| number(pointer).map_or_else(|| "unknown".to_owned(), human::bytes);
        format!(
            "# Written by `manometer init` for a host with {} and {} of memory; the disk: {} on {}, {} free.\n\
             # Every setting: `manometer schema`, docs/experiment.md.",
            match number("/host/cores") {
                None => "unknown processors".to_owned(),
                Some(1) => "one processor".to_owned(),
                Some(cores) => format!("{cores} processors"),
            },
            bytes("/host/memory_bytes"),
            text("/file_system/type"),
            text("/device/name"),
            bytes("/file_system/free_bytes"),
        )
    }

    fn device(&self) -> String {
        format!(
            "# Where? All databases and files are below this directory: its disk is measured.\n[device]\ndirectory = {}\n# \
             Shrink all data where it would take more than half of the free space.\nfit = true\n",
            quoted(&self.answers.directory.display().to_string())
        )
    }

    fn primary(&self) -> String {
        let Answers { engine, workload, data, .. } = &self.answers;
        let threads = available_parallelism().map_or(1, usize::from).div_ceil(2).min(MAX_THREADS);
        let records = (data.0 / RECORD_BYTES).max(1);
        let direct = "# Bypass the page cache: otherwise a database smaller than memory is not read from the disk.\n\
                      options = { use_direct_reads = true, use_direct_io_for_flush_and_compaction = true }\n";
        format!(
            "# What runs? The store whose performance is judged; `manometer engines` lists the engines.\n[primary]\nengine = \
             {}\n# ycsb-a: half updates; ycsb-b: few; ycsb-c: none; ycsb-e: scans.\nworkload = {}\n# {} in records of \
             1,000 bytes. More than memory shows the disk, less the caches.\nrecords = {records}\nthreads = {threads}\n{}# \
             A fixed load instead of the highest: rate = \"1000/s\"\n",
            quoted(engine.name),
            quoted(workload),
            human::bytes(data.0),
            if engine.name == "rocksdb" { direct } else { "" },
        )
    }

    fn neighbour(&self) -> String {
        let Answers { engine, neighbour, data, .. } = &self.answers;
        if *neighbour == NeighbourKind::None {
            return String::new();
        }
        let store = match neighbour {
            NeighbourKind::Store => {
                format!("engine = {}\nrecords = {}\n", quoted(engine.name), (data.0 / RECORD_BYTES / 4).max(1))
            }
            _ => String::new(),
        };
        format!(
            "# Who disturbs it? {}. Add more tables `[[neighbour]]` for more neighbours.\n[[neighbour]]\nname = \
             \"{neighbour}\"\n{}\n{store}",
            capitalised(neighbour.about()),
            neighbour.table()
        )
    }

    fn plan(&self) -> String {
        let Answers { neighbour, time, .. } = &self.answers;
        if !neighbour.is_interleaved() {
            let phase_s = (time.seconds() - 2.0 * WARMUP_S) / (1 + neighbour.steps()) as f64 - WARMUP_S;
            return format!(
                "# How long? One phase without neighbours, then one with them.\n[plan]\nwarmup = \"{WARMUP_S}s\"\nphase = \
                 \"{}s\"\n# Not measured, at the start of each phase.\nsettle = \"{WARMUP_S}s\"\n",
                phase_s.floor().max(1.0)
            );
        }
        let vary = neighbour.ladder().map_or_else(String::new, |(setting, values)| {
            format!(
                "# One phase for each value; any setting that can change while the neighbour runs, or several.\nvary = {{ \
                 \"{neighbour}.{setting}\" = {values:?} }}\n"
            )
        });
        format!(
            "# How long? Short blocks without and with the neighbour take turns, so that slow changes of the host cancel.\n# \
             More rounds make the confidence intervals narrower.\n[plan]\ndesign = \"interleaved\"\nwarmup = \
             \"{WARMUP_S}s\"\nrounds = {}\nblock = \"{}ms\"\nwashout = \"400ms\"\n{vary}",
            self.rounds,
            (BLOCK_S * 1e3) as u64,
        )
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `path`, or the nearest directory above it that exists.
fn nearest(path: &Path) -> &Path {
    let above = path.ancestors().find(|above| above.exists());
    above.filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
