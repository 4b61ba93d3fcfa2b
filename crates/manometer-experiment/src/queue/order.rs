//! What the order of a set's runs leaves to be desired.

use std::collections::BTreeSet;

use manometer_measure::event::{Finding, Severity};

use super::PlannedRun;
use crate::file::{Experiment, Order};

/// A warning for each file whose runs are shuffled or interleaved, so that unlike ones follow one another, while
/// nothing brings the device or the database into one state between them.
pub fn unlike_states(runs: &[PlannedRun]) -> Vec<Finding> {
    let files: BTreeSet<usize> = runs.iter().map(|run| run.file).collect();
    let of_file = |file: usize| {
        let own = || runs.iter().filter(move |run| run.file == file);
        let unlike = own().filter_map(|run| run.combination).collect::<BTreeSet<usize>>().len() > 1;
        let experiment = &own().next()?.experiment;
        let order = match experiment.rules.order {
            Order::Written => return None,
            Order::Shuffled => "shuffled",
            Order::Interleaved => "interleaved",
        };
        (unlike && !settles(experiment)).then(|| finding(experiment, order))
    };
    files.into_iter().filter_map(of_file).collect()
}

/// Whether what a run left has faded, or is replaced, before the next one is measured.
fn settles(experiment: &Experiment) -> bool {
    let times = &experiment.times;
    // A warm-up is the primary's.
    let first = if experiment.primary.is_some() { times.warmup } else { times.settle };
    experiment.prepare.snapshot || !first.0.is_zero()
}

fn finding(experiment: &Experiment, order: &str) -> Finding {
    let remedy = match experiment.primary {
        Some(_) => {
            "Add `plan.warmup`, or begin every run from a snapshot (`prepare.snapshot`, settled before with \
                    `prepare.settle`)."
        }
        None => "Add `plan.settle`.",
    };
    Finding {
        id: "unlike-states-between-runs".to_owned(),
        severity: Severity::Warning,
        phase: None,
        text: format!(
            "The runs of `{}` are {order}, and nothing lets the device settle between unlike ones: each is measured in \
             the state that another left. {remedy}",
            experiment.name
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::runs;

    fn told(tables: &str, plan: &str, sweep: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n{tables}\n[[neighbour]]\nname = \
             \"n\"\nkind = \"io\"\nfile_size = \"1MiB\"\n[plan]\nphase = \"1s\"\n{plan}\n[sweep]\n{sweep}\n"
        );
        std::fs::write(&path, text).unwrap();
        let findings = unlike_states(&runs(&crate::file::load(&path, &[]).unwrap()));
        findings.into_iter().map(|finding| finding.text).collect()
    }

    const UNLIKE: &str = "\"n.dsync\" = [false, true]\n";
    const PRIMARY: &str = "[primary]\nengine = \"rocksdb\"\nrecords = 10\n";

    #[test]
    fn unlike_runs_in_another_order_need_to_settle() {
        for (order, word) in [("order = \"shuffled\"", "shuffled"), ("order = \"interleaved\"", "interleaved")] {
            let sweep = format!("{UNLIKE}{order}");
            let all = told(PRIMARY, "", &sweep);
            assert!(all.len() == 1 && all[0].contains(word) && all[0].contains("plan.warmup"), "{all:?}");
            assert!(told("", "", &sweep)[0].contains("plan.settle"));
            assert!(told(PRIMARY, "settle = \"1s\"", &sweep).len() == 1, "w0 has none");
            assert!(told(PRIMARY, "warmup = \"1s\"", &sweep).is_empty());
            assert!(told("", "settle = \"1s\"", &sweep).is_empty());
            assert!(told(&format!("[prepare]\nsnapshot = true\n{PRIMARY}"), "", &sweep).is_empty());
        }
    }

    #[test]
    fn runs_as_written_and_repeats_of_one_need_not() {
        assert!(told(PRIMARY, "", UNLIKE).is_empty());
        assert!(told(PRIMARY, "", "repeats = 3\norder = \"interleaved\"").is_empty());
    }
}
