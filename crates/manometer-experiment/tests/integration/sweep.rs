//! The runs that a sweep makes, and what is refused.

use manometer_experiment::Experiment;
use manometer_experiment::definition::format_settings;
use manometer_experiment::file::{self, ExperimentError};
use manometer_experiment::queue::{PlannedRun, runs_of};

const SWEPT: &str = r#"
name = "a test"
[device]
directory = "data"
[primary]
records = 1000
[[neighbour]]
name = "writer"
kind = "io"
file_size = "1MiB"
block_size = "8KiB"
[plan]
phase = "10s"
[sweep]
"writer.block_size" = ["4KiB", "16KiB", "64KiB"]
"#;

fn load(text: &str) -> Result<Experiment, ExperimentError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("e.toml");
    std::fs::write(&path, text).unwrap();
    file::load(&path, &[])
}

/// The runs of `SWEPT` with `words` in its `[sweep]`: the block sizes, `reference` where nothing is swept.
fn block_sizes(words: &str) -> Vec<String> {
    let name = |run: &PlannedRun| {
        let swept = run.experiment.swept.get("writer.block_size");
        swept.map_or("reference".to_owned(), |size| size.as_str().unwrap().to_owned())
    };
    runs_of(&load(&format!("{SWEPT}{words}\n")).unwrap()).iter().map(name).collect()
}

#[track_caller]
fn refused(text: &str, words: &[&str]) {
    let error = load(text).unwrap_err();
    assert_eq!(error.problems.len(), 1, "{error}");
    let message = format!("{error} {}", error.problems[0].help_text().unwrap_or_default());
    words.iter().for_each(|word| assert!(message.contains(word), "`{word}` is not in: {message}"));
    assert!(error.problems[0].file_and_line().is_some(), "{message}");
}

#[test]
fn a_plain_sweep_stays_as_it_is() {
    assert_eq!(block_sizes(""), ["4KiB", "16KiB", "64KiB"]);
}

#[test]
fn what_the_ladder_sets_in_every_phase_is_not_swept() {
    let varied = SWEPT.replace("[plan]", "[plan]\nvary = { \"writer.iodepth\" = [1, 2] }");
    let swept = format!("{varied}\"writer.iodepth\" = [4, 8]\n");
    refused(&swept, &["`plan.vary` sets `writer.iodepth` in every phase", "remove it"]);
}

#[test]
fn repeats_come_together_or_apart() {
    assert_eq!(block_sizes("repeats = 2"), ["4KiB", "4KiB", "16KiB", "16KiB", "64KiB", "64KiB"]);
    let apart = block_sizes("repeats = 2\norder = \"interleaved\"");
    assert_eq!(apart, ["4KiB", "16KiB", "64KiB", "4KiB", "16KiB", "64KiB"]);
}

#[test]
fn a_shuffled_sweep_holds_every_run_once() {
    let mut sizes = block_sizes("repeats = 4\norder = \"shuffled\"");
    assert_eq!(sizes, block_sizes("repeats = 4\norder = \"shuffled\""));
    assert_ne!(sizes, block_sizes("repeats = 4"));
    sizes.sort();
    assert_eq!(sizes, ["16KiB"; 4].into_iter().chain(["4KiB"; 4]).chain(["64KiB"; 4]).collect::<Vec<_>>());
}

#[test]
fn the_reference_comes_first_every_so_many_runs_and_last() {
    let runs = block_sizes("reference_every = 2");
    assert_eq!(runs, ["reference", "4KiB", "reference", "16KiB", "reference", "64KiB", "reference"]);
    assert_eq!(block_sizes("reference_every = 3"), ["reference", "4KiB", "16KiB", "reference", "64KiB", "reference"]);
    assert_eq!(block_sizes("reference_every = 9"), ["reference", "4KiB", "16KiB", "64KiB", "reference"]);
}

#[test]
fn the_reference_has_the_files_own_settings() {
    let all = runs_of(&load(&format!("{SWEPT}reference_every = 2\n")).unwrap());
    let own = all[0].experiment.neighbours[0].workload.settings.get("block_size");
    assert_eq!((own.as_str(), all[0].combination, all[2].repeat), (Some("8KiB"), None, 2));
    assert!(!all[0].experiment.to_toml().contains("sweep"), "a run's own file is one run");
}

#[test]
fn repeats_need_no_settings() {
    let plain = SWEPT.split("[sweep]").next().unwrap();
    let all = runs_of(&load(&format!("{plain}[sweep]\nrepeats = 3\n")).unwrap());
    assert_eq!(all.iter().map(|run| run.repeat).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(all.iter().all(|run| run.experiment.swept.is_empty()));
    refused(&format!("{plain}[sweep]\nrepeats = 3\nreference_every = 2\n"), &["reference", "needs swept settings"]);
}

#[test]
fn until_an_interval_is_narrow_a_combination_has_as_many_runs_as_it_may_need() {
    assert_eq!(block_sizes("stop = { interval = \"5%\", at_most = 4 }").len(), 12);
    assert_eq!(block_sizes("stop = { interval = 0.05 }").len(), 30);
}

#[test]
fn what_makes_no_sense_in_a_sweep_is_refused_at_its_line() {
    let with = |words: &str| format!("{SWEPT}{words}\n");
    refused(&with("ordr = \"shuffled\""), &["`ordr`", "did you mean `order`"]);
    refused(&with("order = \"random\""), &["random", "shuffled"]);
    refused(&with("repeats = 0"), &["0 repeats", "1 to 1000"]);
    refused(&with("repeats = \"many\""), &["repeats"]);
    refused(&with("repeats = 1000\n\"writer.iodepth\" = [1, 2, 4, 8]"), &["12000 runs"]);
    refused(&with("reference_every = 1"), &["reference_every", "a number from 2 to 1000"]);
    refused(&with("stop = { interval = \"wide\" }"), &["wide", "5%"]);
    refused(&with("stop = { interval = \"5%\", at_mots = 4 }"), &["`at_mots`", "did you mean `at_most`"]);
    refused(&with("stop = { interval = \"5%\", at_most = 2 }"), &["at_most = 2", "a number from 3"]);
    refused(&with("writer.dsync = [true]"), &["`writer`", "in quotes"]);
    let alone = with("stop = { interval = \"5%\" }").replace("[primary]\nrecords = 1000\n", "");
    refused(&alone, &["needs a primary"]);
}

#[test]
fn a_phase_that_may_be_prolonged_has_a_limit_no_shorter_than_itself() {
    let with = |stop: &str| SWEPT.replace("phase = \"10s\"", &format!("phase = \"10s\"\nstop = {stop}"));
    let stop = load(&with("{ interval = \"5%\", at_most = \"30m\" }")).unwrap().times.stop.unwrap();
    assert_eq!((stop.interval.0, stop.at_most.unwrap().seconds()), (0.05, 1800.0));
    refused(&with("{ interval = \"5%\", at_most = \"9s\" }"), &["shorter than a phase", "10s"]);
    refused(&with("{ interval = \"150%\" }"), &["150%", "5%"]);
    refused(&with("{ interval = \"5%\", width = 1 }"), &["`width`"]);
}

#[test]
fn a_control_group_is_swept_against_none_without_its_limits() {
    let limits =
        "isolation = \"cgroup\"\nlimits = { \"io.max\" = \"wbps=1MiB\", \"io.prio.class\" = \"idle\" }\n[plan]";
    let text = SWEPT.split("[sweep]").next().unwrap().replace("[plan]", limits);
    let sweep = "[sweep]\n\"writer.isolation\" = [\"none\", \"cgroup\"]\n";
    let plain = load(&format!("{text}{sweep}")).unwrap().combinations();
    let limits_of = |run: &Experiment| run.neighbours[0].workload.limits.names_set().collect::<Vec<_>>();
    assert_eq!([&plain[0], &plain[1]].map(limits_of), [vec!["io.prio.class"], vec!["io.max", "io.prio.class"]]);
    assert!(!plain[0].to_toml().contains("io.max") && plain[1].to_toml().contains("io.max"), "as run, each");
    assert_eq!(plain[0].findings[0].id, "limits-left-out");
    assert!(plain[0].findings[0].text.contains("(io.max)") && plain[1].findings.is_empty());
    let both = load(&format!("{text}{sweep}\"writer.limits.io.max\" = [\"wbps=1MiB\", \"wbps=2MiB\"]\n")).unwrap();
    let swept: Vec<String> = both.combinations().iter().map(|run| format_settings(&run.swept)).collect();
    let with = |limit: &str| format!("writer.isolation = cgroup, writer.limits.io.max = wbps={limit}");
    assert_eq!(swept, ["writer.isolation = none".to_owned(), with("1MiB"), with("2MiB")], "one run without a group");
}

#[test]
fn a_sweep_changes_all_copies_and_says_so() {
    let copies = SWEPT.replace("name = \"writer\"", "name = \"writer\"\ninstances = 2");
    assert_eq!(runs_of(&load(&copies).unwrap()).len(), 3);
    let one = copies.replace("\"writer.block_size\"", "\"writer1.block_size\"");
    refused(&one, &["`writer1` is one instance of `writer`", "[[neighbour]]"]);
}
