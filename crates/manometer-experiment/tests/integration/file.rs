//! Experiment files: parsing, precedence of settings, and error messages.

use std::fs;

use manometer_experiment::Experiment;
use manometer_experiment::definition::FileSystem;
use manometer_experiment::file::{self, ExperimentError};
use manometer_testing::{Cause, memory_file_system, repository_file, skip};
use manometer_workload::settings::WorkloadSettings;

const GOOD: &str = r#"
name = "a test"
[device]
directory = "data"
[primary]
records = 1000
[[neighbour]]
name = "writer"
kind = "io"
file_size = "1MiB"
[plan]
phase = "10s"
vary = { "writer.iodepth" = [1, 16] }
"#;

fn load(text: &str) -> Result<Experiment, ExperimentError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("e.toml");
    fs::write(&path, text).unwrap();
    file::load(&path, &[])
}

fn load_changed(from: &str, to: &str) -> Result<Experiment, ExperimentError> {
    assert!(GOOD.contains(from), "{from}");
    load(&GOOD.replace(from, to))
}

/// Asserts that `error` has one problem, on the line that holds `line`, and that its text holds all `words`.
#[track_caller]
fn assert_refused(result: Result<Experiment, ExperimentError>, text: &str, line: &str, words: &[&str]) {
    let error = result.expect_err("the file is wrong");
    assert_eq!(error.problems.len(), 1, "{error}");
    let problem = &error.problems[0];
    let expected = text.lines().position(|candidate| candidate.contains(line)).expect("the line is there") + 1;
    let (file, at) = problem.file_and_line().expect("the problem has a place");
    assert!(file.ends_with("e.toml"), "{file}");
    assert_eq!(at, expected, "{problem}");
    let all = format!("{problem} {}", problem.help_text().unwrap_or_default());
    for word in words {
        assert!(all.contains(word), "`{word}` is not in: {all}");
    }
}

#[track_caller]
fn assert_change_refused(from: &str, to: &str, words: &[&str]) {
    let text = GOOD.replace(from, to);
    assert_refused(load_changed(from, to), &text, to.lines().next().unwrap(), words);
}

#[test]
fn a_good_file_is_read_with_its_defaults() {
    let experiment = load(GOOD).unwrap();
    assert_eq!(experiment.criterion.metric, "throughput");
    assert_eq!(experiment.neighbours.len(), 1);
    assert_eq!(experiment.ladder[0].values.len(), 2);
    let WorkloadSettings::Io(io) = &experiment.neighbours[0].workload.settings else { panic!() };
    assert_eq!((io.block_size.0, io.write_ratio, io.direct), (4096, 0.0, true));
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_right_one() {
    assert_change_refused("file_size", "file_sise", &["`file_sise`", "did you mean `file_size`"]);
    assert_change_refused("records = 1000", "record = 1000", &["`record`", "did you mean `records`"]);
    assert_change_refused("directory", "directori", &["`directori`", "did you mean `directory`"]);
}

#[test]
fn an_unknown_top_level_table_is_named() {
    let text = format!("{GOOD}[sweeep]\n\"writer.dsync\" = [true]\n");
    assert_refused(load(&text), &text, "[sweeep]", &["`sweeep`", "did you mean `sweep`"]);
}

#[test]
fn a_wrong_type_and_an_unknown_unit_are_reported_at_the_value() {
    assert_change_refused("records = 1000", "records = \"many\"", &["records", "many"]);
    assert_change_refused("phase = \"10s\"", "phase = \"10 parsecs\"", &["10 parsecs", "500ms"]);
    assert_change_refused("file_size = \"1MiB\"", "file_size = \"1 parsec\"", &["1 parsec", "256MiB"]);
}

#[test]
fn a_ladder_must_name_a_setting_that_can_change() {
    assert_change_refused(
        "vary = { \"writer.iodepth\"",
        "vary = { \"reader.iodepth\"",
        &["`reader`", "one of `writer`"],
    );
    assert_change_refused("vary = { \"writer.iodepth\"", "vary = { \"writer.iodept\"", &["did you mean `iodepth`"]);
    assert_change_refused(
        "vary = { \"writer.iodepth\"",
        "vary = { \"writer.file_size\"",
        &["cannot change", "[sweep]"],
    );
    assert_change_refused("[1, 16]", "[]", &["at least one value"]);
    assert_change_refused("[1, 16]", "[1, \"deep\"]", &["writer.iodepth", "deep"]);
}

#[test]
fn a_ladder_beyond_the_range_of_its_setting_is_refused() {
    assert_change_refused("[1, 16]", "[1, 5000]", &["iodepth", "1024"]);
}

#[test]
fn a_table_for_a_list_and_a_list_for_a_table_are_refused() {
    assert_change_refused("[[neighbour]]", "[neighbour]", &["list of tables", "[[neighbour]]"]);
    assert_change_refused("[primary]", "[[primary]]", &["one table", "write `[primary]`"]);
}

#[test]
fn a_criterion_must_name_an_operation_of_the_primary() {
    let text = format!("criterion = \"latency.raed.p99\"\n{}", GOOD.trim_start());
    assert_refused(load(&text), &text, "criterion", &["`raed`", "did you mean `read`"]);
}

#[test]
fn a_sweep_that_cannot_run_is_refused_before_its_first_run() {
    let text = format!("{GOOD}[sweep]\n\"writer.block_size\" = [\"4KiB\", \"1000B\"]\n");
    assert_refused(load(&text), &text, "[sweep]", &["block_size", "multiple"]);
    let text = format!("{GOOD}[sweep]\n\"writer.io_engine\" = [\"libaio\", \"posix\"]\n");
    assert_refused(load(&text), &text, "[plan]", &["iodepth", "posix"]);
}

#[test]
fn a_value_is_kept_as_its_setting_writes_it() {
    let experiment = load_changed("\"writer.iodepth\" = [1, 16]", "\"writer.block_size\" = [\"4 KiB\", 8192]").unwrap();
    assert_eq!(experiment.ladder[0].values, ["4KiB", "8KiB"]);
}

#[test]
fn times_out_of_reason_are_refused() {
    assert_change_refused("phase = \"10s\"", "phase = \"600 years\"", &["longer than a year"]);
    let text = format!("interval = \"10500us\"\n{}", GOOD.trim_start());
    assert_refused(load(&text), &text, "interval", &["milliseconds"]);
}

#[test]
fn settings_that_cannot_be_together_are_refused() {
    let both = "\"writer.iodepth\" = [1, 1024], \"writer.block_size\" = [\"4KiB\", \"4MiB\"]";
    let text = GOOD.replace("\"writer.iodepth\" = [1, 16]", both).replace("\"1MiB\"", "\"64MiB\"");
    assert_refused(load(&text), &text, "[plan]", &["iodepth = 1024", "4MiB"]);
}

#[test]
fn an_iodepth_on_posix_is_refused() {
    let text = GOOD.replace("kind = \"io\"", "kind = \"io\"\nio_engine = \"posix\"");
    assert_refused(load(&text), &text, "[1, 16]", &["iodepth", "posix"]);
}

#[test]
fn a_block_that_is_no_multiple_of_the_file_systems_is_refused() {
    assert_change_refused(
        "file_size = \"1MiB\"",
        "block_size = 1000\nfile_size = \"1MiB\"",
        &["block_size", "multiple"],
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    let text = GOOD.replace("records", "record").replace("file_size", "file_sise");
    assert_eq!(load(&text).unwrap_err().problems.len(), 2);
}

#[test]
fn a_syntax_error_is_reported_with_its_line() {
    assert_change_refused("phase = \"10s\"", "phase = \"10s", &["string"]);
}

#[test]
fn syntax_errors_are_reported_all_at_once_each_with_its_line() {
    let changes = [
        ("name = \"a test\"", "name = \"a test"),
        ("records = 1000", "records = 1 000"),
        ("phase = \"10s\"", "phase 10s"),
        ("[1, 16] }", "[1, 16 }"),
    ];
    let text = changes.iter().fold(GOOD.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    let error = load(&text).unwrap_err();
    let lines: Vec<usize> = error.problems.iter().map(|problem| problem.file_and_line().unwrap().1).collect();
    let wrong = |to: &str| text.lines().position(|line| line.contains(to)).unwrap() + 1;
    assert_eq!(lines, changes.map(|(_, to)| wrong(to)), "{error}");
}

#[test]
fn names_must_differ_and_be_plain() {
    assert_change_refused("name = \"writer\"", "name = \"primary\"", &["two workloads"]);
    assert_change_refused("name = \"writer\"", "name = \"../writer\"", &["not a valid name"]);
    assert_change_refused("name = \"writer\"", "name = \"device\"", &["series"]);
}

#[test]
fn a_directory_in_memory_is_refused() {
    if memory_file_system().is_none() {
        return;
    }
    assert_change_refused("directory = \"data\"", "directory = \"/dev/shm/manometer\"", &["memory"]);
}

/// An overlay of two folders, for as long as it lives; nothing where this host or user may not mount one.
struct Overlay(tempfile::TempDir);

impl Overlay {
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let folder = |name: &str| dir.path().join(name).display().to_string();
        ["lower", "upper", "work", "merged"].iter().for_each(|name| fs::create_dir(folder(name)).unwrap());
        let options = format!("lowerdir={},upperdir={},workdir={}", folder("lower"), folder("upper"), folder("work"));
        let mut command = std::process::Command::new("mount");
        let mount = command.args(["-t", "overlay", "overlay", "-o", &options, &folder("merged")]).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(dir))
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path().join("merged")).status();
    }
}

#[test]
fn a_directory_on_an_overlay_is_refused() {
    let Some(overlay) = Overlay::mount() else {
        skip(Cause::Root, "no overlay can be mounted");
        return;
    };
    let directory = format!("directory = {:?}", overlay.0.path().join("merged/data"));
    assert_change_refused("directory = \"data\"", &directory, &["overlay of other file systems", "local disk"]);
}

#[test]
fn a_nearer_file_wins_over_what_it_extends() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("base")).unwrap();
    fs::write(dir.path().join("base/grand.toml"), GOOD).unwrap();
    fs::write(
        dir.path().join("base/base.toml"),
        "extends = \"grand.toml\"\n[plan]\nphase = \"20s\"\nwarmup = \"5s\"\n",
    )
    .unwrap();
    let top = dir.path().join("top.toml");
    fs::write(&top, "extends = \"base/base.toml\"\nname = \"mine\"\n[plan]\nphase = \"30s\"\n").unwrap();
    let experiment = file::load(&top, &[]).unwrap();
    assert_eq!(experiment.name, "mine");
    assert_eq!(experiment.times.phase.seconds(), 30.0);
    assert_eq!(experiment.times.warmup.seconds(), 5.0);
    assert!(!experiment.to_toml().contains("extends"));
    let again = load(&experiment.to_toml()).unwrap();
    assert_eq!(again, experiment, "the resolved whole reads back to the same experiment");
}

#[test]
fn a_file_that_extends_itself_or_a_missing_one_is_refused() {
    let text = "extends = \"e.toml\"\n";
    assert_refused(load(text), text, "extends", &["deeper"]);
    let text = "extends = \"nowhere.toml\"\n";
    assert_refused(load(text), text, "extends", &["nowhere.toml"]);
}

#[test]
fn a_set_changes_what_it_names_and_wins() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("e.toml");
    fs::write(&path, GOOD).unwrap();
    let sets = ["plan.phase=5s", "writer.write_ratio=0.5", "primary.records=7"].map(str::to_owned);
    let experiment = file::load(&path, &sets).unwrap();
    assert_eq!(experiment.times.phase.seconds(), 5.0);
    let WorkloadSettings::Io(io) = &experiment.neighbours[0].workload.settings else { panic!() };
    assert_eq!(io.write_ratio, 0.5);
    let WorkloadSettings::Kv(kv) = &experiment.primary.as_ref().unwrap().settings else { panic!() };
    assert_eq!(kv.records, Some(7));
    for wrong in ["plan.phase", "plan.fase=5s", "writer.write_ratio=lots", "name.x=1"] {
        let error = file::load(&path, &[wrong.to_owned()]).unwrap_err();
        assert_eq!(error.problems[0].file_and_line().unwrap().0, "--set", "{error}");
    }
}

#[test]
fn a_sweep_makes_a_run_for_each_combination() {
    let text = format!(
        "{GOOD}[sweep]\n\"writer.dsync\" = [false, true]\n\"primary.workload\" = [\"ycsb-a\", \"ycsb-b\", \"ycsb-c\"]\n"
    );
    let runs = load(&text).unwrap().combinations();
    assert_eq!(runs.len(), 6);
    let last = &runs[5];
    assert_eq!(last.swept["writer.dsync"], true);
    assert_eq!(last.swept["primary.workload"], "ycsb-c");
    let WorkloadSettings::Io(io) = &last.neighbours[0].workload.settings else { panic!() };
    assert!(io.dsync);
    let again = load(&last.to_toml()).unwrap();
    assert_eq!(again.neighbours, last.neighbours, "each run's own file is the run");
    assert_eq!(again.primary, last.primary);
}

#[test]
fn the_files_that_ship_are_right() {
    let folder = repository_file("experiments");
    for (name, runs, phases) in [
        ("quick.toml", 1, 5),
        ("thesis.toml", 20, 16),
        ("icpe2021.toml", 8, 27),
        ("db_bench.toml", 2, 6),
        ("open-loop.toml", 1, 6),
        ("prepared.toml", 2, 7),
        ("isolation.toml", 4, 5),
        ("schedulers.toml", 4, 9),
        ("random-vs-sequential.toml", 1, 21),
        ("file-server.toml", 1, 6),
        ("macro-workloads.toml", 3, 4),
        ("rlsm-curves.toml", 1, 2),
        ("rlsm-curves-rocksdb.toml", 1, 2),
        ("rlsm-pressure.toml", 2, 9),
        ("rlsm-pressure-rocksdb.toml", 1, 9),
        ("recycle.toml", 8, 3),
        ("metadata-storm.toml", 1, 5),
        ("backup.toml", 1, 5),
        ("lsm-tuning.toml", 2, 2),
    ] {
        let experiment = file::load(&folder.join(name), &[]).unwrap();
        let all = experiment.combinations();
        assert_eq!(all.len(), runs, "{name}");
        assert_eq!(manometer_experiment::plan::plan(&all[0]).phases.len(), phases, "{name}");
    }
}

#[test]
fn the_files_with_external_programs_are_right() {
    let folder = repository_file("experiments");
    for (name, program, phases) in [("fio-neighbour.toml", "fio", 3), ("db_bench-primary.toml", "db_bench", 5)] {
        match file::load(&folder.join(name), &[]) {
            Ok(experiment) => assert_eq!(manometer_experiment::plan::plan(&experiment).phases.len(), phases, "{name}"),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains(&format!("`{program}`, which is not installed")), "{text}");
                eprintln!("{name} was not read to its end: {program} is not installed here");
            }
        }
    }
}

#[test]
fn the_comparisons_that_ship_are_right() {
    let folder = repository_file("experiments");
    assert!(!file::RealVsSynthetic::has_kind(&folder.join("quick.toml")));
    for (name, replays) in [("real-vs-synthetic.toml", 710), ("real-vs-synthetic-simulated.toml", 0)] {
        let path = folder.join(name);
        assert!(file::RealVsSynthetic::has_kind(&path));
        let settings = file::RealVsSynthetic::load(&path, &[]).unwrap();
        assert_eq!(manometer_experiment::real_vs_synthetic::planned_replays_max(&settings), replays, "{name}");
    }
}

#[test]
fn every_file_that_ships_is_read_by_a_test() {
    let folder = repository_file("experiments");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    for name in names.filter(|name| name.ends_with(".toml")) {
        assert!(include_str!("file.rs").contains(&format!("(\"{name}\", ")), "{name} is in no list of these tests");
    }
}

const ISOLATED: &str = "kind = \"io\"\nisolation = \"cgroup\"\nlimits = { \"io.max\" = \"rbps=1MiB\" }";

#[test]
fn isolation_and_limits_are_read_swept_and_changed_by_phases() {
    let text = GOOD.replace("kind = \"io\"", ISOLATED).replace(
        "vary = { \"writer.iodepth\" = [1, 16] }",
        "vary = { \"writer.limits.io.max\" = [\"max\", \"rbps=2MiB\"] }\n[sweep]\n\"device.scheduler\" = [\"none\", \
         \"bfq\"]\n\"writer.limits.memory.max\" = [\"max\", \"64MiB\"]",
    );
    let runs = load(&text).unwrap().combinations();
    assert_eq!(runs.len(), 4);
    assert_eq!(runs[3].scheduler.as_deref(), Some("bfq"));
    assert_eq!(runs[3].resolved["device"]["scheduler"], "bfq");
    assert_eq!(runs[3].neighbours[0].workload.get("limits.memory.max"), "64MiB");
    let limits = &runs[3].resolved["neighbour"][0]["limits"];
    assert_eq!((&limits["io.max"], &limits["memory.max"]), (&"rbps=1MiB".into(), &"64MiB".into()));
    let plan = manometer_experiment::plan::plan(&runs[3]);
    let settings: Vec<_> = plan.phases.iter().map(|phase| phase.settings["writer.limits.io.max"].clone()).collect();
    assert_eq!(settings, ["rbps=1MiB", "max", "rbps=2MiB"]);
    assert_eq!(load(&runs[3].to_toml()).unwrap().neighbours, runs[3].neighbours, "the resolved file says the same");
}

#[test]
fn a_limit_is_set_from_the_command_line_by_its_dotted_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("e.toml");
    fs::write(&path, GOOD).unwrap();
    let sets = ["writer.isolation=cgroup", "writer.limits.io.max=rbps=1MiB", "writer.limits.io.weight=50"];
    let experiment = file::load(&path, &sets.map(str::to_owned)).unwrap();
    let workload = &experiment.neighbours[0].workload;
    assert_eq!((workload.get("limits.io.max"), workload.get("limits.io.weight")), ("rbps=1MiB".into(), 50.into()));
}

#[test]
fn impossible_isolation_is_reported_at_its_line() {
    assert_change_refused("kind = \"io\"", "isolation = \"vm\"\nkind = \"io\"", &["cgroup", "container"]);
    let limits = |limits: &str| format!("limits = {{ {limits} }}\nisolation = \"cgroup\"\nkind = \"io\"");
    for (wrong, words) in [
        ("\"io.max\" = \"fast\"", ["io.max", "rbps=100MiB"]),
        ("\"io.weight\" = 0", ["io.weight", "1 to 10000"]),
        ("\"io.wait\" = 1", ["unknown key `io.wait`", "did you mean"]),
        ("io.max = \"max\"", ["`io` is not a limit", "`\"io.max\"`"]),
    ] {
        assert_change_refused("kind = \"io\"", &limits(wrong), &words);
    }
    assert_change_refused(
        "kind = \"io\"",
        "limits = { \"io.max\" = \"rbps=1MiB\" }\nkind = \"io\"",
        &["add `isolation = \"cgroup\"`"],
    );
    assert_change_refused(
        "vary = { \"writer.iodepth\" = [1, 16] }",
        "vary = { \"writer.isolation\" = [\"none\", \"cgroup\"] }",
        &["cannot change while `writer` runs", "[sweep]"],
    );
}

fn with_command(command: &str) -> Result<Experiment, ExperimentError> {
    load(&format!(
        "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n[primary]\nkind = \"command\"\n{command}\n[plan]\nphase = \"1s\"\n"
    ))
}

#[test]
fn an_external_program_is_checked_at_its_line() {
    let good = "command = [\"sh\", \"-c\", \"x\"]\nparser = \"regex\"\npatterns = { op = '(?<rate>[0-9]+)' }";
    assert_eq!(with_command(good).unwrap().criterion.unit, "ops/s");
    for (wrong, wanted) in [
        ("command = \"no-such-program\"\nparser = \"ycsb\"", "`no-such-program`, which is not installed"),
        ("command = \"sh\"\nparser = \"regex\"\npatterns = { op = '(?<rate>[0-9+)' }", "unclosed character class"),
        ("command = \"sh\"\nparser = \"regex\"\npatterns = { op = 'x' }", "(?<rate>"),
        ("command = \"sh\"\nparser = \"tarot\"", "db_bench"),
        ("command = \"sh\"\nparser = \"ycsb\"\npatience = \"soon\"", "patience"),
        ("parser = \"ycsb\"", "command"),
    ] {
        let text = with_command(wrong).unwrap_err().to_string();
        assert!(text.contains(wanted), "{wrong}: {text}");
    }
}

#[test]
fn a_program_without_latencies_cannot_be_judged_by_them() {
    let text = "name = \"a test\"\ncriterion = \"latency.read.p99\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n\
        [primary]\nkind = \"command\"\ncommand = \"sh\"\nparser = \"ycsb\"\n[plan]\nphase = \"1s\"\n";
    let error = load(text).unwrap_err();
    assert!(error.to_string().contains("has no operation `read`"), "{error}");
}

/// An experiment with `head` before its tables, this primary, and `plan` after `phase`.
fn with_primary(head: &str, primary: &str, plan: &str) -> String {
    format!(
        "name = \"a test\"\n{head}[device]\ndirectory = \"/var/tmp/manometer-none\"\n[primary]\n{primary}\n[plan]\nphase = \"1s\"\n{plan}"
    )
}

#[test]
fn a_paced_primary_of_every_kind_is_judged_by_what_it_can_be() {
    let metric = |primary: &str| load(&with_primary("", primary, "")).unwrap().criterion.metric;
    for (primary, expected) in [
        ("engine = \"null\"\nworkload = \"ycsb-b\"\nrate = 500", "response.read.p99"),
        ("engine = \"null\"\nworkload = \"ycsb-b\"", "throughput"),
        ("kind = \"io\"\nrate = \"500/s\"", "latency.read.p99"),
        ("kind = \"io\"\nrate = \"500/s\"\nwrite_ratio = 0.9", "latency.write.p99"),
        ("kind = \"io\"", "throughput"),
        ("kind = \"files\"\npersonality = \"oltp\"\nrate = \"500/s\"", "latency.read.p99"),
        ("kind = \"files\"\npersonality = \"oltp\"", "throughput"),
        ("kind = \"command\"\ncommand = \"sh\"\nparser = \"ycsb\"", "throughput"),
    ] {
        assert_eq!(metric(primary), expected, "{primary}");
    }
}

#[test]
fn a_phase_does_not_wait_for_the_throughput_of_a_paced_primary() {
    let (head, stop) = ("criterion = \"throughput\"\n", "stop = { interval = \"5%\" }\n");
    for primary in ["engine = \"null\"\nworkload = \"ycsb-b\"\nrate = 500", "kind = \"io\"\nrate = \"500/s\""] {
        let error = load(&with_primary(head, primary, stop)).unwrap_err().to_string();
        assert!(error.contains("cannot wait for the throughput of a paced primary"), "{error}");
        load(&with_primary(head, primary, "")).unwrap();
        load(&with_primary("", primary, stop)).unwrap();
    }
    let swept = with_primary(head, "engine = \"null\"\nworkload = \"ycsb-b\"", stop)
        + "[sweep]\n\"primary.rate\" = [500, 1000]\n";
    assert!(load(&swept).unwrap_err().to_string().contains("paced primary"));
}

proptest::proptest! {
    #[test]
    fn no_text_can_panic(text in ".{0,300}") {
        let _ = load(&text);
    }

    #[test]
    fn no_cut_or_bent_file_can_panic(at in 0..GOOD.len(), with in "\\PC{0,4}") {
        let bent = format!("{}{with}{}", &GOOD[..at], &GOOD[at..]);
        let _ = load(&bent);
        let _ = load(&GOOD[..at]);
    }
}

#[test]
fn files_of_properties_lie_beside_the_experiment() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("e.toml");
    fs::write(dir.path().join("mine"), "recordcount=1000\n").unwrap();
    fs::write(dir.path().join("small"), "recordcount=10\n").unwrap();
    let files = "[primary]\nworkload = \"mine\"\nproperties_files = [\"small\", \"workloadc\"]\n";
    fs::write(&path, GOOD.replace("[primary]\nrecords = 1000\n", files)).unwrap();
    let experiment = file::load(&path, &[]).unwrap();
    let WorkloadSettings::Kv(kv) = &experiment.primary.as_ref().unwrap().settings else { panic!() };
    let beside = |name: &str| dir.path().join(name).display().to_string();
    assert_eq!(kv.workload, beside("mine"));
    assert_eq!(kv.properties_files, [beside("small"), "workloadc".to_owned()]);
}

#[test]
fn a_server_that_one_workload_has_emptied_serves_no_other() {
    let both = |primary: &str, neighbour: &str| {
        let text = format!(
            "name = \"servers\"\n[device]\ndirectory = \"data\"\n[primary]\nengine = \"redis\"\noptions = {{ {primary} }}\n[[neighbour]]\nname = \"other\"\nkind = \"kv\"\n\
             engine = \"redis\"\noptions = {{ {neighbour} }}\n[plan]\nphase = \"10s\"\n"
        );
        (load(&text), text)
    };
    let one = "address = \"localhost:6379\", flush = true";
    for other in ["address = \"127.0.0.1:6379\"", "address = \"10.0.0.1:1, localhost:6379\", flush = true"] {
        for (primary, neighbour) in [(one, other), (other, one)] {
            let (result, text) = both(primary, neighbour);
            assert_refused(
                result,
                &text,
                "[primary]",
                &["`primary` and `other`", "the server at ", ":6379", "flush = true"],
            );
        }
    }
    let cluster = |seed: u32| format!("address = \"192.0.2.{seed}:6379\", cluster = true, flush = true");
    let (result, text) = both(&cluster(1), &cluster(2));
    assert_refused(result, &text, "[primary]", &["a cluster, possibly the same"]);
    both(one, "address = \"localhost:6380\", flush = true").0.unwrap();
    both(one, "save = \"\"").0.unwrap();
    // Where nothing is emptied, the marker says whose the records are.
    both("address = \"localhost:6379\"", "address = \"localhost:6379\"").0.unwrap();
}

#[test]
fn a_closing_phase_needs_somebody_to_be_alone() {
    let text =
        GOOD.replace("[primary]\nrecords = 1000\n", "").replace("phase = \"10s\"", "phase = \"10s\"\nclosing = true");
    assert_refused(load(&text), &text, "closing", &["closing", "needs a primary"]);
}

/// The errors of an interleaved plan with `primary` and `plan` in addition to its usual keys.
fn interleaved_errors(workloads: &str, plan: &str) -> String {
    let head = "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n";
    let design = "[plan]\ndesign = \"interleaved\"\nrounds = 5\nblock = \"3s\"\nwashout = \"1s\"\n";
    load(&format!("{head}{workloads}{design}{plan}")).unwrap_err().to_string()
}

#[test]
fn an_interleaved_plan_needs_a_primary_phases_beside_w0_and_workloads_that_can_pause() {
    let (primary, writer) = ("[primary]\nrecords = 9\n", "[[neighbour]]\nname = \"n\"\nkind = \"io\"\n");
    assert!(interleaved_errors(writer, "").contains("an interleaved plan needs a primary"));
    assert!(interleaved_errors(primary, "").contains("needs phases besides `w0`"));
    let both = format!("{primary}{writer}");
    let script = format!("{both}script = \"2s: iodepth = 2\"\n");
    assert!(interleaved_errors(&script, "").contains("no timetable"), "{}", interleaved_errors(&script, ""));
    let step = interleaved_errors(&both, "[[plan.step]]\nstart = [\"n\"]\nphase = \"9s\"\n");
    assert!(step.contains("a step of an interleaved plan has no `phase`"), "{step}");
    let program = "[[neighbour]]\nname = \"n\"\nkind = \"command\"\ncommand = \"sleep 9\"\nparser = \"fio\"\n";
    let program = interleaved_errors(&format!("{primary}{program}"), "");
    assert!(program.contains("`n` is an external program"), "{program}");
}

#[test]
fn a_ladder_without_the_length_of_its_phases_is_refused() {
    let text = "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n[primary]\nrecords = 9\n[plan]\n";
    assert!(load(text).unwrap_err().to_string().contains("`phase` is missing"));
}

/// The lines of all problems, in the order of the file.
#[track_caller]
fn lines_of(error: &ExperimentError) -> Vec<usize> {
    let mut lines: Vec<usize> =
        error.problems.iter().map(|one| one.file_and_line().expect("every problem has a place").1).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn mistakes_in_different_places_are_reported_together() {
    let line = |text: &str, part: &str| text.lines().position(|line| line.contains(part)).unwrap() + 1;
    // Each: what is replaced, by what, and a part of the wrong line.
    let mistakes = [
        ("directory = \"data\"", "directory = 5", "directory = 5"),
        ("records = 1000", "records = \"many\"", "\"many\""),
        ("name = \"writer\"", "name = \"writer\"\nblock_size = \"1 parsec\"", "1 parsec"),
        ("file_size = \"1MiB\"", "file_sise = \"1MiB\"", "file_sise"),
        ("phase = \"10s\"", "phase = \"10s\"\nsettle = \"soon\"", "soon"),
        ("name = \"a test\"", "name = 7\ncriterion = \"fast\"\ninterval = \"1 blink\"", "name = 7"),
    ];
    let all = mistakes.iter().fold(GOOD.to_owned(), |text, (from, to, _)| text.replacen(from, to, 1));
    let mut expected: Vec<usize> = mistakes.iter().map(|(.., part)| line(&all, part)).collect();
    expected.extend(["fast", "blink"].map(|part| line(&all, part)));
    expected.sort_unstable();
    assert_eq!(lines_of(&load(&all).unwrap_err()), expected);
    // Two in one table, two in one sweep.
    let text = GOOD.replace("records = 1000", "records = \"many\"\nthreads = \"some\"\nsync = 5");
    assert_eq!(lines_of(&load(&text).unwrap_err()), ["many", "some", "sync"].map(|part| line(&text, part)));
    let text = format!("{GOOD}[sweep]\nrepeats = \"twice\"\n\"reader.iodepth\" = [1]\n").replace("[1, 16]", "[]");
    assert_eq!(lines_of(&load(&text).unwrap_err()), ["vary", "twice", "reader"].map(|part| line(&text, part)));
}

#[test]
fn mistakes_of_several_sets_are_reported_with_those_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("e.toml");
    fs::write(&path, GOOD.replace("file_size", "file_sise")).unwrap();
    let sets = ["nonsense", "plan.phase.x=1", "seed=1e400", "primary.records=5"].map(str::to_owned);
    let error = file::load(&path, &sets).unwrap_err();
    assert_eq!(error.problems.len(), 4, "{error}");
}

/// An experiment with the lines `array` as its `[array]`, in a directory with arrangements of one disk and of two with a
/// cache.
fn load_with_array(array: &str) -> (String, Result<Experiment, ExperimentError>) {
    let dir = tempfile::tempdir().unwrap();
    for name in ["devices.toml", "workloads.toml"] {
        fs::copy(repository_file("arrangements").join(name), dir.path().join(name)).unwrap();
    }
    let one = "devices = \"devices.toml\"\nworkloads = \"workloads.toml\"\nscale = 4\n[host]\nram = \"1GiB\"\n[origin]\n\
        device = \"hdd\"\nsize = \"1GiB\"\n";
    let two = "count = 2\nraid = \"raid0\"\n[cache]\ndevice = \"ssd\"\nsize = \"64MiB\"\npolicy = \"bcache\"\nblock = \"4KiB\"\nbucket = \"64KiB\"\n";
    fs::write(dir.path().join("one.toml"), one).unwrap();
    fs::write(dir.path().join("two.toml"), format!("{one}{two}")).unwrap();
    let text = format!("{GOOD}[array]\n{array}\n");
    let path = dir.path().join("e.toml");
    fs::write(&path, &text).unwrap();
    (text, file::load(&path, &[]))
}

#[test]
fn an_array_takes_the_devices_that_each_arrangement_of_a_sweep_needs() {
    let (_, experiment) = load_with_array(
        "arrangement = \"one.toml\"\norigin = [\"/dev/a\", \"b\"]\ncache = [\"c\"]\n[sweep]\n\
         \"array.arrangement\" = [\"one.toml\", \"two.toml\"]\n\"array.file_system\" = [\"xfs\"]",
    );
    let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
    let named = experiment.referenced_files();
    assert_eq!(named.keys().filter(|path| path.ends_with("one.toml") || path.ends_with("two.toml")).count(), 2);
    let runs = experiment.combinations();
    let names = |run: &Experiment| {
        let array = run.array.as_ref().unwrap();
        assert_eq!(array.file_system, FileSystem::Xfs);
        assert!(array.arrangement.is_absolute() && array.origin[1].is_absolute());
        assert_eq!(run.resolved["array"]["arrangement"], array.arrangement.display().to_string());
        array.arrangement.file_name().unwrap().to_owned()
    };
    assert_eq!(runs.iter().map(names).collect::<Vec<_>>(), ["one.toml", "two.toml"]);
    assert_eq!(experiment.storage().len(), 3);
}

#[test]
fn wrong_arrays_are_reported() {
    let good = "arrangement = \"one.toml\"\norigin = [\"a\", \"b\"]";
    load_with_array(good).1.unwrap_or_else(|error| panic!("{error}"));
    for (from, to, words) in [
        ("one.toml", "none.toml", &["none.toml", "cannot be read"][..]),
        ("one.toml", "two.toml", &["`two` needs 1 devices in `array.cache`, which lists 0"]),
        ("[\"a\", \"b\"]", "[]", &["needs 1 devices in `array.origin`, which lists 0"]),
        ("[\"a\", \"b\"]", "\"a\"", &["origin", "sequence"]),
        ("[\"a\", \"b\"]", "[\"a\", \"\"]", &["a path in `origin` is empty"]),
        ("arrangement = \"one.toml\"\n", "", &["arrangement"]),
        ("origin", "orign", &["unknown key `orign`"]),
        ("\"b\"]", "\"b\"]\nfile_system = \"fat\"", &["fat", "ext4", "xfs"]),
        ("\"b\"]", "\"b\"]\n[sweep]\n\"array.arrangement\" = [\"two.toml\"]", &["`array.cache`"]),
        ("\"b\"]", "\"b\"]\n[sweep]\n\"array.arrangement\" = [4]", &["4 is not a file of an arrangement"]),
        ("\"b\"]", "\"b\"]\n[sweep]\n\"array.file_system\" = [\"fat\"]", &["fat"]),
        ("\"b\"]", "\"b\"]\n[sweep]\n\"array.origin\" = [\"c\"]", &["array"]),
    ] {
        assert!(good.contains(from));
        let error = load_with_array(&good.replace(from, to)).1.expect_err(to);
        for word in words {
            assert!(error.to_string().contains(word), "{to}: `{word}` is not in: {error}");
        }
    }
    let budget =
        GOOD.replace("\"data\"", "\"data\"\nwrite_budget = \"1GiB\"") + "[array]\narrangement = \"a\"\norigin = []\n";
    let error = load(&budget).expect_err("no budget");
    assert!(error.to_string().contains("`write_budget` is not for an array"), "{error}");
    let swept = format!("{GOOD}[sweep]\n\"array.arrangement\" = [\"a.toml\"]\n");
    assert_refused(load(&swept), &swept, "array.arrangement", &["needs an array", "`[array]`"]);
    let error = load(&GOOD.replace("[plan]", "[[array]]\norigin = []\n[plan]")).expect_err("a list");
    assert!(error.to_string().contains("`array` must be one table"), "{error}");
}
