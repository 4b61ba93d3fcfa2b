//! Tests of the logs of Storiks' author, where they are available: each one is imported, and its phases match its
//! lines.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use manometer_import::{ImportError, ImportedPhase, ImportedRun};
use manometer_measure::{Phase, PhaseKind, Recording};
use manometer_testing::real_data;

use crate::formats;

fn read(path: &Path) -> Result<ImportedRun, ImportError> {
    formats::read("storiks", &[path.to_owned()])
}

fn logs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(logs(&path));
        } else if path.to_string_lossy().ends_with(".out.xz") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn text(path: &Path) -> String {
    let mut text = String::new();
    liblzma::read::XzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

/// The primary's operations in a line, with start and end in seconds since the first line.
struct LoggedOperations {
    from_s: f64,
    to_s: f64,
    operations: f64,
}

fn logged_operations(text: &str) -> Vec<LoggedOperations> {
    let time = |line: &str| {
        let time = chrono::NaiveDateTime::parse_from_str(line.get(1..24)?, "%Y-%m-%d %H:%M:%S%.3f").ok()?;
        Some(time.and_utc().timestamp_millis() as f64 / 1000.0)
    };
    let begin = text.lines().find_map(time).unwrap();
    // db_bench's counts are those of its threads: `rates_are_those_of_the_cumulative_counters` checks them.
    let total = |line: &str| {
        line.contains("Task ycsb[0], stdout").then_some(())?;
        let operations = line.split(" operations; ").next()?.rsplit(' ').next()?;
        Some((time(line)? - begin, operations.parse::<f64>().ok()?))
    };
    let totals: Vec<(f64, f64)> = text.lines().filter_map(total).collect();
    let one = |pair: &[(f64, f64)]| {
        let ((from_s, before), (to_s, after)) = (pair[0], pair[1]);
        LoggedOperations { from_s, to_s, operations: after - before }
    };
    totals.windows(2).map(one).collect()
}

fn recorded(imported: &ImportedRun) -> (tempfile::TempDir, Recording) {
    let dir = tempfile::tempdir().unwrap();
    imported.write(dir.path()).unwrap();
    let recording = Recording::open(dir.path()).unwrap();
    (dir, recording)
}

fn ids(imported: &ImportedRun, wanted: impl Fn(&Phase) -> bool) -> Vec<String> {
    imported.phases.iter().filter(|one| wanted(&one.phase)).map(|one| one.phase.id.clone()).collect()
}

/// Imports the log and compares the rate of each phase with its counters: how many phases, and the largest deviation.
fn compare_with_counters(path: &Path) -> (usize, f64) {
    let (mut phases, mut largest) = (0, 0.0_f64);
    let imported = read(path).unwrap();
    let known = ["import-clock-jitter", "import-neighbour-unsampled"];
    assert!(
        imported.findings.iter().all(|finding| known.contains(&finding.id.as_str())),
        "{path:?}: {:?}",
        imported.findings
    );
    assert!(imported.status.is_some(), "{path:?}");
    let (_dir, recording) = recorded(&imported);
    let summary = manometer_analysis::summarise(&recording);
    let logged = logged_operations(&text(path));
    for phase in &summary.phases {
        let (Some(begin_s), Some(end_s)) = (phase.start_s, phase.end_s) else { panic!("{path:?}: {}", phase.id) };
        let within = logged.iter().filter(|one| one.from_s >= begin_s && one.to_s <= end_s);
        let (seconds, operations) = within.fold((0.0, 0.0), |(seconds, operations), one| {
            (seconds + one.to_s - one.from_s, operations + one.operations)
        });
        let Some(mean) = phase.performance.mean.filter(|_| !logged.is_empty()) else { continue };
        let counted = operations / seconds;
        let deviation = (mean - counted).abs() / counted;
        assert!(deviation < 0.01, "{path:?}, {}: {mean} instead of {counted}", phase.id);
        (phases, largest) = (phases + 1, largest.max(deviation));
    }
    (phases, largest)
}

#[test]
fn every_log_is_imported_and_phases_have_the_rate_of_their_counters() {
    let Some(data) = real_data("storiks") else { return };
    let logs = &logs(&data);
    let part_of = |part| logs.iter().skip(part).step_by(4).map(|path| compare_with_counters(path)).collect::<Vec<_>>();
    let compared: Vec<(usize, f64)> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..4).map(|part| scope.spawn(move || part_of(part))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    let phases: usize = compared.iter().map(|(phases, _)| phases).sum();
    let largest = compared.iter().map(|(_, largest)| *largest).fold(0.0, f64::max);
    println!("{phases} phases, at most {:.2} % from the counters", 100.0 * largest);
    assert!(phases > 0);
}

#[test]
fn rates_are_those_of_the_cumulative_counters() {
    let Some(data) = real_data("storiks") else { return };
    let reference = std::fs::read(data.join("reference_rates.json")).unwrap();
    let reference: Vec<serde_json::Value> = serde_json::from_slice(&reference).unwrap();
    let (mut compared, mut wrong) = (0, Vec::new());
    for path in logs(&data) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let expected: Vec<&serde_json::Value> = reference.iter().filter(|rate| rate["file"] == name.as_str()).collect();
        if expected.is_empty() {
            continue;
        }
        let (_dir, recording) = recorded(&read(&path).unwrap());
        let summary = manometer_analysis::summarise(&recording);
        let last_ns = recording.samples("primary").unwrap().t_ns.last().copied().unwrap();
        let last_s = recording.seconds(last_ns);
        for rate in expected {
            let number = |name: &str| rate[name].as_f64().unwrap();
            let (start_s, end_s, expected) = (number("start_s"), number("end_s"), number("ops_per_s"));
            let is_same = |at: Option<f64>, expected: f64| at.is_some_and(|at| (at - expected).abs() < 2.0);
            // A reference may span several phases, of which the script changed the primary: they follow without a gap.
            let phases: Vec<_> = (summary.phases.iter())
                .filter(|one| {
                    one.start_s.is_some_and(|at| at > start_s - 2.0) && one.end_s.is_some_and(|at| at < end_s + 2.0)
                })
                .collect();
            let is_whole = is_same(phases.first().and_then(|one| one.start_s), start_s)
                && is_same(phases.last().and_then(|one| one.end_s), end_s)
                && phases.windows(2).all(|pair| is_same(pair[0].end_s, pair[1].start_s.unwrap()));
            let (operations, length_s) = phases.iter().fold((0.0, 0.0), |(operations, seconds), one| {
                let length_s = one.end_s.unwrap() - one.start_s.unwrap();
                (operations + one.performance.mean.unwrap_or(f64::NAN) * length_s, seconds + length_s)
            });
            let mean = if is_whole { operations / length_s } else { f64::NAN };
            // After a thread's last report the reference counts nothing of it any more; the recording ends there.
            let unreported = ((end_s - last_s) / (end_s - start_s)).max(0.0);
            let deviation = mean / expected - 1.0;
            println!("{name}, {start_s:.0} s: {mean:.1}, expected {expected:.1}");
            compared += 1;
            if !(-0.01..=0.01 + unreported).contains(&deviation) {
                wrong.push(format!("{name}, {start_s:.0} s: {mean} instead of {expected}"));
            }
        }
    }
    assert_eq!(compared, reference.len());
    assert!(wrong.is_empty(), "{} of {compared} by more than 1 %: {wrong:#?}", wrong.len());
}

#[test]
fn the_slides_have_their_phases() {
    let Some(data) = real_data("storiks") else { return };
    let imported = read(&data.join("icpe2021/ycsb_wb,at3_bs128_directio.out.xz")).unwrap();
    let expected: Vec<String> = (1..=25).map(|number| format!("w{number}")).collect();
    assert_eq!(ids(&imported, |phase| phase.kind == PhaseKind::Pressure), expected);
    assert_eq!(ids(&imported, |phase| phase.kind == PhaseKind::Baseline), ["w0"]);
    let phase = |id: &str| imported.phases.iter().find(|one| one.phase.id == id).unwrap();
    assert_eq!(phase("w4").phase.running, ["primary", "n1", "n2", "n3", "n4"]);
    assert_eq!(phase("w4").phase.settings["n1.write_ratio"], 0.0);
    assert_eq!(phase("w5").phase.settings["n1.write_ratio"], 0.1);
    assert_eq!(phase("w25").phase.settings["n1.write_ratio"], 1.0);
    assert_eq!(phase("w25").phase.settings["n2.write_ratio"], 0.7);
}

/// A measured phase: its id, its label, who runs, its begin and its end in seconds.
type PhaseRow<'a> = (&'a str, &'a str, Vec<&'a str>, u64, u64);

fn measured_phases(imported: &ImportedRun) -> Vec<PhaseRow<'_>> {
    imported.phases.iter().filter(|one| one.phase.kind != PhaseKind::Warmup).map(phase_row).collect()
}

fn phase_row(one: &ImportedPhase) -> PhaseRow<'_> {
    let seconds = |t_ns: u64| t_ns / 1_000_000_000;
    let running = one.phase.running.iter().map(String::as_str).collect();
    (&one.phase.id, &one.phase.label, running, seconds(one.begin_ns), seconds(one.end_ns))
}

#[test]
fn a_further_instance_of_the_primarys_program_is_a_neighbour_from_its_start() {
    let Some(data) = real_data("storiks") else { return };
    let imported = read(&data.join("kinds/ycsb_db3-threads4_workloadb.out.xz")).unwrap();
    let expected = [
        ("w0", "no neighbour", vec!["primary"], 60, 960),
        ("w1", "ycsb2 starts", vec!["primary", "ycsb2"], 960, 1861),
        ("w2", "ycsb3 starts", vec!["primary", "ycsb2", "ycsb3"], 1861, 2762),
    ];
    assert_eq!(measured_phases(&imported), expected);
    let (_dir, recording) = recorded(&imported);
    let summary = manometer_analysis::summarise(&recording);
    let means: Vec<f64> = summary.phases.iter().map(|phase| phase.performance.mean.unwrap().round()).collect();
    assert_eq!(means.len(), 3, "{means:?}");
    // The increments of YCSB's own counts of operations.
    for (mean, counted) in means.iter().zip([69_160.0, 46_123.0, 34_626.0]) {
        assert!((mean / counted - 1.0).abs() < 0.01, "{mean} instead of {counted}");
    }
    assert!(summary.phases[0].neighbours.is_empty());
    assert!(summary.phases[2].neighbours.keys().eq(["ycsb2", "ycsb3"]));
}

#[test]
fn a_neighbour_without_a_sample_in_a_phase_is_a_finding() {
    let Some(data) = real_data("storiks") else { return };
    let imported = read(&data.join("kinds/at3_jobs2_directio.out.xz")).unwrap();
    let found = imported.findings.iter().find(|finding| finding.id == "import-neighbour-unsampled").unwrap();
    assert!(found.phase_ids().any(|phase| phase == "w1"), "{found:?}");
    assert!(found.text.contains("`n2` lies in w1"), "{}", found.text);
}

#[test]
fn a_script_that_changes_the_primary_begins_phases() {
    let Some(data) = real_data("storiks") else { return };
    let imported = read(&data.join("kinds/mw_per_threads_writeratio-dbs1_threads10.out.xz")).unwrap();
    let alone = || vec!["primary"];
    let expected = [
        ("w0", "no neighbour", alone(), 60, 960),
        ("w1", "primary.writeratio = 0.1", alone(), 960, 1860),
        ("w2", "primary.writeratio = 0.2", alone(), 1860, 2760),
        ("w3", "primary.writeratio = 0.5", alone(), 2760, 3662),
    ];
    assert_eq!(measured_phases(&imported), expected);
    let ratios = imported.phases[1..].iter().map(|one| one.phase.settings["primary.writeratio"].as_f64().unwrap());
    assert!(ratios.eq([0.05, 0.1, 0.2, 0.5]));
    let (_dir, recording) = recorded(&imported);
    let summary = manometer_analysis::summarise(&recording);
    // The cumulative counts of its threads, interpolated at the ends of the phases.
    for (phase, counted) in summary.phases.iter().zip([23_206.3, 10_667.7, 5_189.9, 2_063.5]) {
        let mean = phase.performance.mean.unwrap();
        assert!((mean / counted - 1.0).abs() < 0.01, "{}: {mean} instead of {counted}", phase.id);
    }
}

/// A log of YCSB: status lines of an instance, as its number, a second of the log, and its operations so far.
fn ycsb_log(statuses: &[(u32, u32, u32)]) -> String {
    let head = "[2021-09-13 20:25:00.000] [info] storiks version: 0.1\n\
                [2021-09-13 20:25:00.000] [info] parameters: --stats_interval=\"2\" --num_ydbs=\"2\"\n";
    let line = |(instance, second, operations): &(u32, u32, u32)| {
        format!(
            "[2021-09-13 20:25:{second:02}.000] [info] Task ycsb[{instance}], stdout: {second} sec: {operations} \
             operations; 100 current ops/sec; [READ: Count=200, Max=9, Min=1, Avg=2, 90=3, 99=4, 99.9=5, 99.99=6]\n"
        )
    };
    let lines: String = statuses.iter().map(line).collect();
    format!("{head}{lines}[2021-09-13 20:25:42.000] [info] exit(0)\n")
}

#[test]
fn an_instance_that_ends_ends_its_phase() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.out");
    let mut statuses: Vec<(u32, u32, u32)> = (1..=21).map(|step| (0, 2 * step, 200 * step)).collect();
    statuses.extend((6..=12).map(|step| (1, 2 * step, 200 * step)));
    statuses.sort_by_key(|(instance, second, _)| (*second, *instance));
    std::fs::write(&path, ycsb_log(&statuses)).unwrap();
    let expected = [
        ("w0", "no neighbour", vec!["primary"], 0, 10),
        ("w1", "ycsb2 starts", vec!["primary", "ycsb2"], 10, 24),
        ("w0-2", "no neighbour, again", vec!["primary"], 24, 42),
    ];
    assert_eq!(measured_phases(&read(&path).unwrap()), expected);
    // One that starts with the primary and reports until the end is there in the only phase.
    let statuses: Vec<(u32, u32, u32)> =
        (1..=20).flat_map(|step| [(0, 2 * step, 200 * step), (1, 2 * step + 1, 200 * step)]).collect();
    std::fs::write(&path, ycsb_log(&statuses)).unwrap();
    assert_eq!(measured_phases(&read(&path).unwrap()), [("w1", "ycsb2 starts", vec!["primary", "ycsb2"], 0, 42)]);
}

#[test]
fn a_log_cut_anywhere_is_imported_up_to_there_or_refused() {
    let Some(data) = real_data("storiks") else { return };
    let whole = text(&data.join("exp_01-ycsb_workloadb.out.xz"));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.out");
    for share in [0.0, 0.001, 0.01, 0.1, 0.4, 0.7, 0.95] {
        let mut end = (whole.len() as f64 * share) as usize;
        while !whole.is_char_boundary(end) {
            end -= 1;
        }
        std::fs::write(&path, &whole[..end]).unwrap();
        match read(&path) {
            Ok(imported) => {
                assert!(imported.findings.iter().any(|finding| finding.id == "import-cut-short"));
                let (_dir, recording) = recorded(&imported);
                manometer_analysis::summarise(&recording);
            }
            Err(error) => assert!(share < 0.05, "{share}: {error}"),
        }
    }
}

#[test]
fn damaged_compression_is_a_finding() {
    let Some(data) = real_data("storiks") else { return };
    let mut bytes = std::fs::read(data.join("exp_01-ycsb_workloadb.out.xz")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0x55);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("damaged.out.xz");
    std::fs::write(&path, bytes).unwrap();
    if let Ok(imported) = read(&path) {
        assert!(imported.findings.iter().any(|finding| finding.id == "import-damaged"), "{:?}", imported.findings);
    }
}

#[test]
fn what_is_no_log_is_refused_and_unknown_versions_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.out");
    let refuse = |text: &str, word: &str| {
        std::fs::write(&path, text).unwrap();
        let error = read(&path).err().unwrap().to_string();
        assert!(error.contains(word), "{error}");
    };
    refuse("", "no log of Storiks");
    refuse("hello\n", "`hello`");
    refuse("[2021-09-13 20:25:05.675] [info] other version: 1\n", "storiks 0.1");
    refuse("[2021-09-13 20:25:05.675] [info] storiks version: 0.1\n", "no statistics");
    let status = |second: u32, operations: u32| {
        format!(
            "[2021-09-13 20:25:{second:02}.000] [info] Task ycsb[0], stdout: 2021-09-13 20:25:{second:02}:000 {second} sec: \
             {operations} operations; 100 current ops/sec; [READ: Count=200, Max=9, Min=1, Avg=2, 90=3, 99=4, 99.9=5, 99.99=6]\n"
        )
    };
    let head = "[2021-09-13 20:25:05.000] [info] storiks version: 7.3\n[2021-09-13 20:25:05.000] [info] parameters: --stats_interval=\"2\" --num_ydbs=\"1\"\n";
    std::fs::write(&path, [head, &status(8, 200), &status(10, 400), &status(7, 600), &status(12, 800)].concat())
        .unwrap();
    let imported = read(&path).unwrap();
    let ids: Vec<&str> = imported.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["import-unknown-version", "import-clock-stepped", "import-cut-short"]);
    assert!(imported.findings[0].text.contains("storiks 7.3"));
    // A damaged date, and a damaged number of a task.
    let far =
        status(12, 800).replacen("2021", "9999", 1) + &status(13, 900).replace("ycsb[0]", "ycsb[18446744073709551615]");
    std::fs::write(&path, [head, &status(8, 200), &status(10, 400), &far].concat()).unwrap();
    read(&path).unwrap().write(&dir.path().join("far")).unwrap();
}
