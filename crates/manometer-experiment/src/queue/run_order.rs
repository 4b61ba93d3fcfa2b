//! A finding about the order of a set's runs.

use std::collections::BTreeSet;

use manometer_measure::event::{Finding, Severity};

use super::runs::PlannedRun;
use crate::definition::{Experiment, RunOrder};

/// A warning for each file whose shuffled or interleaved runs follow one another without a settle time or a snapshot.
pub fn unlike_states(runs: &[PlannedRun]) -> Vec<Finding> {
    let files: BTreeSet<usize> = runs.iter().map(|run| run.file).collect();
    let of_file = |file: usize| {
        let own = || runs.iter().filter(move |run| run.file == file);
        let unlike = own().filter_map(|run| run.combination).collect::<BTreeSet<usize>>().len() > 1;
        let experiment = &own().next()?.experiment;
        let order = match experiment.sweep_rules.order {
            RunOrder::Written => return None,
            RunOrder::Shuffled => "shuffled",
            RunOrder::Interleaved => "interleaved",
        };
        (unlike && !settles(experiment)).then(|| finding(experiment, order))
    };
    files.into_iter().filter_map(of_file).collect()
}

/// Whether the effects of a run fade, or its data are restored, before the next one is measured.
fn settles(experiment: &Experiment) -> bool {
    let times = &experiment.times;
    // A warm-up is the primary's.
    let first = if experiment.primary.is_some() { times.warmup } else { times.settle };
    experiment.prepare.snapshot || !first.0.is_zero()
}

fn finding(experiment: &Experiment, order: &str) -> Finding {
    let remedy = match experiment.primary {
        Some(_) => {
            "Add `plan.warmup`, or start every run from a snapshot (`prepare.snapshot`, settled with `prepare.settle`)."
        }
        None => "Add `plan.settle`.",
    };
    Finding::new(
        "unlike-states-between-runs",
        Severity::Warning,
        format!(
            "The runs of `{}` are {order}, and the device does not settle between different runs: each is measured in the \
             state that another left. {remedy}",
            experiment.name
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::runs_of;

    fn warnings(tables: &str, plan: &str, sweep: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n{tables}\n[[neighbour]]\nname = \
             \"n\"\nkind = \"io\"\nfile_size = \"1MiB\"\n[plan]\nphase = \"1s\"\n{plan}\n[sweep]\n{sweep}\n"
        );
        std::fs::write(&path, text).unwrap();
        let findings = unlike_states(&runs_of(&crate::file::load(&path, &[]).unwrap()));
        findings.into_iter().map(|finding| finding.text).collect()
    }

    const UNLIKE: &str = "\"n.dsync\" = [false, true]\n";
    const PRIMARY: &str = "[primary]\nengine = \"rocksdb\"\nrecords = 10\n";

    #[test]
    fn different_runs_in_another_order_need_a_settle_time() {
        for (order, word) in [("order = \"shuffled\"", "shuffled"), ("order = \"interleaved\"", "interleaved")] {
            let sweep = format!("{UNLIKE}{order}");
            let all = warnings(PRIMARY, "", &sweep);
            assert!(all.len() == 1 && all[0].contains(word) && all[0].contains("plan.warmup"), "{all:?}");
            assert!(warnings("", "", &sweep)[0].contains("plan.settle"));
            assert!(warnings(PRIMARY, "settle = \"1s\"", &sweep).len() == 1, "w0 has no settle time");
            assert!(warnings(PRIMARY, "warmup = \"1s\"", &sweep).is_empty());
            assert!(warnings("", "settle = \"1s\"", &sweep).is_empty());
            assert!(warnings(&format!("[prepare]\nsnapshot = true\n{PRIMARY}"), "", &sweep).is_empty());
        }
    }

    #[test]
    fn written_order_and_repeats_of_one_combination_need_none() {
        assert!(warnings(PRIMARY, "", UNLIKE).is_empty());
        assert!(warnings(PRIMARY, "", "repeats = 3\norder = \"interleaved\"").is_empty());
    }
}
