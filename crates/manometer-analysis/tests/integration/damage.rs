//! A recording with a file truncated anywhere, or missing, has a summary or is refused: never a panic, never a number that
//! is not finite.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use manometer_analysis::summarise;
use manometer_analysis::summary::RunSummary;
use manometer_analysis::verdict::Grade;
use manometer_measure::event::RunStatus;
use manometer_measure::plan::PhaseKind;
use manometer_measure::{Event, EventLine, Recording, json_line};
use proptest::prelude::*;

use crate::synthetic::{Run, at, find, open, phase, plan};

/// The files of a recording, by their paths below it.
type Content = Vec<(PathBuf, Vec<u8>)>;

/// Records in a directory, and reads what is there: at the end, or as a kill leaves it.
fn recorded(finished: bool) -> Content {
    let dir = tempfile::tempdir().unwrap();
    let phases = vec![phase("w0", PhaseKind::Baseline, 30, 1), phase("w1", PhaseKind::Pressure, 30, 16)];
    let plan = plan(phases);
    let mut run = Run::begin(dir.path(), &plan);
    run.phase(&plan.phases[0], 1_000.0, 100, 0.0);
    run.phase(&plan.phases[1], 400.0, 300, 80.0);
    if finished {
        run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
    }
    // The writer of a run that is killed is still open.
    let content = files(dir.path()).into_iter().map(|path| {
        let bytes = fs::read(&path).unwrap();
        (path.strip_prefix(dir.path()).unwrap().to_owned(), bytes)
    });
    content.collect()
}

/// A recording in `dir`, which ended or was killed.
fn record(dir: &Path, finished: bool) {
    static FINISHED: LazyLock<Content> = LazyLock::new(|| recorded(true));
    static KILLED: LazyLock<Content> = LazyLock::new(|| recorded(false));
    for (name, bytes) in if finished { FINISHED.iter() } else { KILLED.iter() } {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    assert!(find(&summarise(&open(dir)), "w1").pressure.value.is_some());
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn summarised(dir: &Path) -> Result<(), TestCaseError> {
    let Ok(recording) = Recording::open(dir) else { return Ok(()) };
    let summary = summarise(&recording);
    for phase in &summary.phases {
        let numbers = [phase.performance.mean, phase.performance.ci_low, phase.pressure.value, phase.pressure.ci_high];
        prop_assert!(numbers.iter().flatten().all(|number| number.is_finite()), "{:?}", phase);
        prop_assert!(phase.performance.mean.is_some() || phase.performance.reason.is_some());
        prop_assert!(phase.pressure.value.is_some() || phase.pressure.reason.is_some());
    }
    prop_assert!(!summary.headline.is_empty());
    Ok(())
}

/// The summary of a finished recording whose line of events with `text` is changed by `change`, and the line's number.
fn with_line(text: &str, change: impl Fn(&str) -> String) -> (usize, RunSummary) {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), true);
    let path = dir.path().join("events.jsonl");
    let events = fs::read_to_string(&path).unwrap();
    let index = events.lines().position(|line| line.contains(text)).unwrap();
    let changed = |(number, line): (usize, &str)| if number == index { change(line) } else { format!("{line}\n") };
    fs::write(&path, events.lines().enumerate().map(changed).collect::<String>()).unwrap();
    (index + 1, summarise(&open(dir.path())))
}

#[test]
fn a_damaged_event_leaves_every_phase_its_own_time() {
    let end = "\"phase_ended\",\"phase\":\"w0\"";
    let changes: [fn(&str) -> String; 4] = [
        |line| format!("{}\n", &line[..line.len() - 1]),
        |line| line.replace("phase_ended", "phase_mislaid") + "\n",
        |line| line.replace("\"t_ns\":", "\"t_ns\":-") + "\n",
        // The line end is lost: the next line, the start of w1, goes with it.
        str::to_owned,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let (line, summary) = with_line(end, change);
        let damaged = summary.findings.iter().find(|finding| finding.id == "damaged").unwrap();
        assert!(damaged.text.contains(&format!("events.jsonl, line {line} is left out")), "{}", damaged.text);
        let (w0, w1) = (find(&summary, "w0"), find(&summary, "w1"));
        assert!((w0.performance.mean.unwrap() / 1_000.0 - 1.0).abs() < 0.02, "{:?}", w0.performance);
        assert_eq!((w0.start_s, w0.performance.samples), (Some(0.0), 30));
        assert_eq!(w1.performance.mean.is_some(), number < 3, "{:?}", w1.performance);
        assert_ne!(summary.verdict.grade, Grade::Sound);
    }
}

#[test]
fn a_phase_that_overlaps_with_the_next_one_ends_before_it() {
    let (_, summary) = with_line("\"phase_ended\",\"phase\":\"w0\"", |line| {
        let early = EventLine { t_ns: at(20), event: Event::PhaseStarted { phase: "w1".to_owned() } };
        format!("{}{line}\n", String::from_utf8(json_line::encode(&early)).unwrap())
    });
    let w0 = find(&summary, "w0");
    assert_eq!((w0.end_s, w0.performance.samples), (Some(20.0), 20));
    let cut = summary.findings.iter().find(|finding| finding.id == "phase-cut").unwrap();
    assert!(cut.text.contains("w0 was measured for 20 s of 30 s"), "{}", cut.text);
}

/// What a disk, a power cut or a hand does to a file.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Flipped,
    ZeroedTail,
    ZeroedSector,
    Overwritten,
    Truncated,
}

fn damaged(bytes: &[u8], damage: Damage, at: f64, noise: u64) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    let begin = (bytes.len() as f64 * at) as usize;
    let sector = begin..bytes.len().min(begin + 512);
    match damage {
        Damage::Flipped => damaged.iter_mut().skip(begin).take(1).for_each(|byte| *byte ^= 1 << (noise % 8)),
        Damage::ZeroedTail => damaged[begin..].fill(0),
        Damage::ZeroedSector => damaged[sector].fill(0),
        Damage::Overwritten => {
            let noise = noise.to_le_bytes();
            damaged[sector].iter_mut().zip(noise.iter().cycle()).for_each(|(byte, noise)| *byte = *noise);
        }
        Damage::Truncated => damaged.truncate(begin),
    }
    damaged
}

/// The summary of the recording in `dir`; `None` if it is refused.
fn summary(dir: &Path) -> Option<RunSummary> {
    Recording::open(dir).ok().map(|recording| summarise(&recording))
}

/// The number of damages that are tried.
fn damages() -> u32 {
    std::env::var("DAMAGES").map_or(200, |damages| damages.parse().unwrap())
}

/// What is left of a file; `None` if it is gone.
type Loss = fn(&[u8]) -> Option<Vec<u8>>;

/// Whole lines and entries are left, so that no checksum contradicts anything.
#[test]
fn a_killed_run_that_lost_the_ends_of_some_files_or_their_checksums_is_damaged() {
    let losses: [(&str, Loss); 3] = [
        ("latency/db.hlog", |bytes| {
            let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
            Some(lines[..lines.len() / 2].concat())
        }),
        ("samples/db.crc32c", |bytes| Some(bytes[..bytes.len() / 16 * 8].to_vec())),
        ("samples/db.crc32c", |_| None),
    ];
    for (name, left) in losses {
        let dir = tempfile::tempdir().unwrap();
        record(dir.path(), false);
        assert!(!summarise(&open(dir.path())).findings.iter().any(|finding| finding.id == "damaged"));
        let path = dir.path().join(name);
        match left(&fs::read(&path).unwrap()) {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let summary = summarise(&open(dir.path()));
        assert!(summary.findings.iter().any(|finding| finding.id == "damaged"), "{name}: {:?}", summary.findings);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 0, ..ProptestConfig::with_cases(damages()) })]

    #[test]
    fn a_damaged_file_is_told_or_changes_nothing(
        which in any::<prop::sample::Index>(),
        kind in prop::sample::select(vec![
            Damage::Flipped, Damage::ZeroedTail, Damage::ZeroedSector, Damage::Overwritten, Damage::Truncated,
        ]),
        at in 0.0..1.0f64,
        noise in any::<u64>(),
        finished in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        record(dir.path(), finished);
        let whole = summary(dir.path()).unwrap();
        let files = files(dir.path());
        let path = which.get(&files);
        let bytes = fs::read(path).unwrap();
        fs::write(path, damaged(&bytes, kind, at, noise)).unwrap();
        // A run that was cut short had files of any length.
        let is_told = |summary: &RunSummary| summary.findings.iter().any(|finding| finding.id == "damaged");
        let may_be_short = !finished && matches!(kind, Damage::Truncated);
        if let Some(read) = summary(dir.path()).filter(|read| !is_told(read) && !may_be_short) {
            prop_assert_eq!(serde_json::to_value(read).unwrap(), serde_json::to_value(whole).unwrap(), "{:?}", path);
        }
        summarised(dir.path())?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_truncated_file_leaves_a_summary(which in any::<prop::sample::Index>(), at in 0.0..1.0f64, finished in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        record(dir.path(), finished);
        let files = files(dir.path());
        let path = which.get(&files);
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..(bytes.len() as f64 * at) as usize]).unwrap();
        summarised(dir.path())?;
    }

    #[test]
    fn a_missing_file_leaves_a_summary(which in any::<prop::sample::Index>(), finished in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        record(dir.path(), finished);
        fs::remove_file(which.get(&files(dir.path()))).unwrap();
        summarised(dir.path())?;
    }
}
