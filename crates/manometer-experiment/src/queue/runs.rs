//! The runs of experiments with sweeps, in order.

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::definition::{Experiment, RunOrder};
use crate::prepare::disk_fit::{DiskFits, disk_fits, fit_of};

/// One run of a set.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRun {
    /// The experiment, its sweep resolved.
    pub experiment: Experiment,
    /// The index of its file in the set.
    pub file: usize,
    /// The index of its combination; nothing for the reference.
    pub combination: Option<usize>,
    /// The number of the repeat, from 1.
    pub repeat: u32,
}

/// The runs of several files in order, and how far their data shrink to fit the disks.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedSet {
    /// The runs.
    pub runs: Vec<PlannedRun>,
    /// How far their data shrink.
    pub fits: DiskFits,
}

/// The runs of `experiments`, one for each file.
pub fn plan_set<'a>(experiments: impl IntoIterator<Item = &'a Experiment>) -> PlannedSet {
    let of_file = |(file, experiment)| runs_of(experiment).into_iter().map(move |run| PlannedRun { file, ..run });
    let runs: Vec<PlannedRun> = experiments.into_iter().enumerate().flat_map(of_file).collect();
    let fits = disk_fits(runs.iter().map(|run| &run.experiment));
    PlannedSet { runs, fits }
}

impl PlannedSet {
    /// The runs with their data shrunk to fit.
    pub fn fitted_runs(&self) -> Vec<PlannedRun> {
        let shrunk = |run: &PlannedRun| {
            let run = run.clone();
            let fit = fit_of(&run.experiment, &self.fits);
            PlannedRun { experiment: run.experiment.fitted(fit), ..run }
        };
        self.runs.iter().map(shrunk).collect()
    }

    /// The experiment of a set without a sweep: its recording needs no folder below the output folder.
    pub fn single_experiment(&self) -> Option<&Experiment> {
        let [only] = self.runs.as_slice() else { return None };
        Some(&only.experiment).filter(|experiment| experiment.swept.is_empty())
    }
}

/// The runs of `experiment`. Where combinations are repeated until their intervals are narrow enough, all runs that may be
/// needed.
pub fn runs_of(experiment: &Experiment) -> Vec<PlannedRun> {
    let rules = &experiment.sweep_rules;
    let combinations = experiment.combinations();
    let ordered = in_order(rules.order, combinations.len(), rules.max_repeats(), experiment.seed);
    let swept = ordered.into_iter().map(|(combination, repeat)| PlannedRun {
        experiment: combinations[combination].clone(),
        file: 0,
        combination: Some(combination),
        repeat,
    });
    match rules.reference_every {
        None => swept.collect(),
        Some(every) => {
            let reference = Experiment { reference: true, ..experiment.without_sweep() };
            with_reference(swept.collect(), &reference, every as usize)
        }
    }
}

/// All combinations with all repeats (from 1), in order.
fn in_order(order: RunOrder, combinations: usize, repeats: u32, seed: u64) -> Vec<(usize, u32)> {
    let written = (0..combinations).flat_map(|combination| (1..=repeats).map(move |repeat| (combination, repeat)));
    match order {
        RunOrder::Written => written.collect(),
        RunOrder::Interleaved => {
            (1..=repeats).flat_map(|repeat| (0..combinations).map(move |combination| (combination, repeat))).collect()
        }
        RunOrder::Shuffled => {
            let mut shuffled: Vec<usize> = written.map(|(combination, _)| combination).collect();
            shuffled.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
            with_repeats(&shuffled, combinations)
        }
    }
}

/// Numbers the repeats of each combination in the order of the runs.
fn with_repeats(ordered: &[usize], combinations: usize) -> Vec<(usize, u32)> {
    let mut seen = vec![0; combinations];
    let count = |combination: &usize| {
        seen[*combination] += 1;
        (*combination, seen[*combination])
    };
    ordered.iter().map(count).collect()
}

/// Adds the reference as the first, the last and every `every`-th run.
fn with_reference(swept: Vec<PlannedRun>, reference: &Experiment, every: usize) -> Vec<PlannedRun> {
    let groups = swept.chunks(every - 1).map(Some).chain([None]);
    let numbered = (1..).zip(groups);
    numbered
        .flat_map(|(repeat, group)| {
            let reference = PlannedRun { experiment: reference.clone(), file: 0, combination: None, repeat };
            [reference].into_iter().chain(group.into_iter().flatten().cloned())
        })
        .collect()
}

/// Whether the reference `index` of `runs` is not needed. A reference is needed as the last run, and where otherwise more
/// than `reference_every` − 1 runs in a row would have none. `done`: an earlier run was done. `needless`: a later run will
/// certainly not be done.
pub(super) fn is_idle_reference(
    runs: &[&PlannedRun],
    index: usize,
    done: impl Fn(usize) -> bool,
    needless: impl Fn(usize) -> bool,
) -> bool {
    let rules = &runs[index].experiment.sweep_rules;
    let Some(every) = rules.reference_every.filter(|_| runs[index].combination.is_none()) else { return false };
    let is_own = |other: &usize| runs[*other].file == runs[index].file;
    let is_reference = |other: &usize| runs[*other].combination.is_none();
    let Some(last) = (0..index).filter(is_own).rfind(|other| is_reference(other) && done(*other)) else { return false };
    let since = (last + 1..index).filter(is_own).filter(|other| done(*other)).count();
    let next = (index + 1..runs.len()).filter(is_own).find(is_reference);
    let Some(next) = next else { return since == 0 };
    let following: Vec<usize> = (index + 1..next).filter(is_own).collect();
    let room = (every as usize).saturating_sub(since);
    // `needless` may be slow: it is called no more often than necessary.
    following.len() < room || following.into_iter().filter(|other| !needless(*other)).take(room).count() < room
}

/// Which of `runs` are done where every combination ends after its minimum number of repeats.
pub(super) fn needed_runs(runs: &[&PlannedRun]) -> Vec<bool> {
    let mut needed = vec![false; runs.len()];
    for index in 0..runs.len() {
        let is_optional = |other: usize| {
            let run = runs[other];
            run.combination.is_some() && run.repeat > run.experiment.sweep_rules.repeats
        };
        let is_needless = |other: usize| {
            let same =
                |one: &usize| (runs[*one].file, runs[*one].combination) == (runs[other].file, runs[other].combination);
            let done = (0..index).filter(same).filter(|one| needed[*one]).count();
            is_optional(other) && done >= runs[other].experiment.sweep_rules.repeats as usize
        };
        needed[index] = !is_optional(index) && !is_idle_reference(runs, index, |other| needed[other], is_needless);
    }
    needed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn repeats_are_adjacent_in_written_order_and_apart_in_interleaved_order() {
        assert_eq!(in_order(RunOrder::Written, 2, 2, 1), [(0, 1), (0, 2), (1, 1), (1, 2)]);
        assert_eq!(in_order(RunOrder::Interleaved, 2, 2, 1), [(0, 1), (1, 1), (0, 2), (1, 2)]);
        assert_eq!(in_order(RunOrder::Written, 1, 1, 1), [(0, 1)]);
    }

    #[test]
    fn a_shuffled_order_has_the_same_runs_and_depends_on_the_seed_only() {
        let all = |seed| in_order(RunOrder::Shuffled, 10, 3, seed);
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
        assert_ne!(all(1), in_order(RunOrder::Written, 10, 3, 1));
        let set: BTreeSet<(usize, u32)> = all(1).into_iter().collect();
        assert_eq!(set.into_iter().collect::<Vec<_>>(), in_order(RunOrder::Written, 10, 3, 1));
        let first: Vec<u32> =
            all(1).into_iter().filter(|(combination, _)| *combination == 4).map(|run| run.1).collect();
        assert_eq!(first, [1, 2, 3], "repeats count in the order in which they run");
    }

    /// The needed runs of a sweep of two combinations `a` and `b`, with `r` for a reference, by the rules in its `[sweep]`.
    fn needed_with(rules: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n[primary]\nrecords = 10\n[plan]\n\
             phase = \"1s\"\n[sweep]\n\"primary.threads\" = [1, 2]\n{rules}\n"
        );
        std::fs::write(&path, text).unwrap();
        let runs = runs_of(&crate::file::load(&path, &[]).unwrap());
        let all: Vec<&PlannedRun> = runs.iter().collect();
        let letter = |run: &PlannedRun| run.combination.map_or('r', |place| if place == 0 { 'a' } else { 'b' });
        let needed = all.iter().zip(needed_runs(&all)).filter(|(_, needed)| *needed);
        needed.map(|(run, _)| letter(run)).collect()
    }

    #[test]
    fn references_run_at_most_reference_every_runs_apart() {
        assert_eq!(needed_with("repeats = 2\nreference_every = 2"), "rararbrbr");
        assert_eq!(needed_with("repeats = 2\nreference_every = 4"), "raabrbr");
        let stop = "stop = { interval = \"5%\", at_most = 9 }";
        assert_eq!(needed_with(&format!("{stop}\nreference_every = 3")), "raarabrbbr");
        assert_eq!(needed_with(&format!("{stop}\nreference_every = 4")), "raaarbbbr", "none in a row");
        assert_eq!(needed_with(&format!("{stop}\nreference_every = 100")), "raaabbbr");
    }
}
