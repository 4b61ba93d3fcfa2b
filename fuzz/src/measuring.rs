//! The targets of the measuring half: `import_<format>` and `flags` for files of other tools, `program_<parser>` for
//! programs' output, `recording_<file>` for a recording with this file, `experiment`, and `queue` for a set's runs.
//!
//! `make test` replays their corpora with the same code (`crates/manometer/tests/integration/corpus.rs`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use manometer_analysis::summarise;
use manometer_experiment::queue::{self, Queue};
use manometer_experiment::{Experiment, file};
use manometer_import::{FORMATS, ImportFormat, experiment_of_flags, find_format, import};
use manometer_measure::Recording;
use manometer_workload::command::ParserName;
use manometer_workload::command::parser;
use tempfile::TempDir;

const PROGRAMS: [(&str, ParserName); 7] = [
    ("db_bench", ParserName::DbBench),
    ("fio", ParserName::Fio),
    ("memtier", ParserName::Memtier),
    ("redis_benchmark", ParserName::RedisBenchmark),
    ("regex", ParserName::Regex),
    ("sysbench", ParserName::Sysbench),
    ("ycsb", ParserName::Ycsb),
];

/// The files of a recording.
const RECORDED: [(&str, &str); 8] = [
    ("checksums", "checksums.jsonl"),
    ("environment", "environment.json"),
    ("events", "events.jsonl"),
    ("experiment", "experiment.toml"),
    ("latencies", "latency/primary.hlog"),
    ("plan", "plan.json"),
    ("samples", "samples/primary.parquet"),
    ("stream", "samples/primary.arrows"),
];

/// The experiment of a queue.
const SWEEP: &str = "name = \"set\"\n[device]\ndirectory = \"/var/empty/manometer\"\n[primary]\nkind = \"files\"\n\
    personality = \"varmail\"\nfiles = 10\n[plan]\nphase = \"1s\"\n[sweep]\n\"primary.threads\" = [1, 2]\n";

/// What reads the bytes.
#[derive(Debug, Clone, Copy)]
pub enum Reader {
    /// An importer.
    Import(&'static ImportFormat),
    /// The importer of parameter files.
    Flags,
    /// The parser of a program's output.
    Program(ParserName),
    /// A recording whose file of this name has these bytes.
    Recording(&'static str),
    /// An experiment file.
    Experiment,
    /// The file `queue.jsonl` of a set.
    Queue,
}

impl Reader {
    /// The names of all targets.
    pub fn names() -> Vec<String> {
        let formats = FORMATS.iter().map(|format| format!("import_{}", format.name.replace('-', "_")));
        let programs = PROGRAMS.iter().map(|(name, _)| format!("program_{name}"));
        let recorded = RECORDED.iter().map(|(name, _)| format!("recording_{name}"));
        formats.chain(programs).chain(recorded).chain(["experiment", "flags", "queue"].map(str::to_owned)).collect()
    }

    /// The one of this name.
    pub fn find(name: &str) -> Option<Self> {
        match name.split_once('_') {
            Some(("import", format)) => {
                find_format(format).or_else(|| find_format(&format.replace('_', "-"))).map(Self::Import)
            }
            Some(("program", program)) => of(&PROGRAMS, program).map(Self::Program),
            Some(("recording", file)) => of(&RECORDED, file).map(Self::Recording),
            _ => match name {
                "experiment" => Some(Self::Experiment),
                "flags" => Some(Self::Flags),
                "queue" => Some(Self::Queue),
                _ => None,
            },
        }
    }

    /// Reads `bytes`: they may be refused, and must not cause a panic.
    pub fn read(self, bytes: &[u8]) {
        let dir = tempfile::tempdir().expect("a directory can be made");
        let file = dir.path().join("input");
        match self {
            Self::Import(format) => {
                write(&file, bytes);
                if import(format, &[file], &dir.path().join("out")).is_ok() {
                    summarise_all(&dir.path().join("out"));
                }
            }
            Self::Flags => {
                write(&file, bytes);
                let _ = experiment_of_flags(&file);
            }
            Self::Program(program) => parse(program, bytes),
            Self::Recording(name) => {
                copy_template(dir.path());
                if name.ends_with(".arrows") {
                    fs::remove_file(dir.path().join("samples/primary.parquet")).expect("it was copied");
                }
                write(&dir.path().join(name), bytes);
                summarise_one(dir.path());
            }
            Self::Experiment => {
                write(&file, bytes);
                let _ = file::load(&file, &[]).map(|experiment| queue::plan_set([&experiment]));
            }
            Self::Queue => {
                let sweep = sweep(dir.path());
                write(&dir.path().join("queue.jsonl"), bytes);
                let _ = Queue::resume(dir.path(), &sweep, &queue::plan_set([&sweep[0].1]));
            }
        }
    }
}

fn of<T: Copy>(list: &[(&str, T)], name: &str) -> Option<T> {
    list.iter().find(|(known, _)| *known == name).map(|(_, found)| *found)
}

fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("a file can be written");
}

fn parse(program: ParserName, bytes: &[u8]) {
    let patterns = match program {
        ParserName::Regex => BTreeMap::from([("requests".to_owned(), r"(?P<requests>\d+) requests".to_owned())]),
        _ => BTreeMap::new(),
    };
    let words = ["program".to_owned(), "--threads=2".to_owned()];
    let Ok(mut parser) = parser::new(program, &words, &patterns) else { return };
    for line in String::from_utf8_lossy(bytes).lines() {
        let _ = parser.line(line);
    }
}

/// A small recording, imported from two documents of fio.
static TEMPLATE: LazyLock<TempDir> = LazyLock::new(|| {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let file = dir.path().join("fio.json");
    write(&file, include_bytes!("../corpus/import_fio/two-documents"));
    let fio = find_format("fio").expect("a format's name");
    import(fio, &[file], &dir.path().join("recording")).expect("a whole file");
    dir
});

/// Without the sums of its files, which would refuse what is changed before it is read.
fn copy_template(to: &Path) {
    let from = TEMPLATE.path().join("recording");
    for name in RECORDED.map(|(_, name)| name).into_iter().filter(|name| *name != "checksums.jsonl") {
        fs::create_dir_all(to.join(name).parent().expect("it has a directory")).expect("a directory can be made");
        // A finished recording has no `.arrows`.
        let _ = fs::copy(from.join(name), to.join(name));
    }
}

fn summarise_all(out: &Path) {
    let runs = fs::read_dir(out.join("runs")).into_iter().flatten().flatten().map(|entry| entry.path());
    runs.chain([out.to_owned()]).for_each(|dir| summarise_one(&dir));
}

fn summarise_one(dir: &Path) {
    let Ok(recording) = Recording::open(dir) else { return };
    let _ = summarise(&recording);
    let _ = recording.faults_of_files();
}

/// The experiment of a set, which is in no file.
fn sweep(dir: &Path) -> Vec<(PathBuf, Experiment)> {
    let path = dir.join("sweep.toml");
    write(&path, SWEEP.as_bytes());
    vec![(PathBuf::from("sweep.toml"), file::load(&path, &[]).expect("the experiment is right"))]
}
