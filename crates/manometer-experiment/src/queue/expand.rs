//! From an experiment with a sweep to its runs in order.

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::file::{Experiment, Order};
use crate::fit::{Fits, fit_of, fits, fitted};

/// One run of a set.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRun {
    /// What runs, its sweep resolved.
    pub experiment: Experiment,
    /// The file it is of, as the set counts them.
    pub file: usize,
    /// Which of the file's combinations it is; nothing for the reference.
    pub combination: Option<usize>,
    /// Which of its repeats it is, counted from 1.
    pub repeat: u32,
}

/// The runs of several files in order, as the files say, and how far their data shrink to fit the disks.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// The runs.
    pub runs: Vec<PlannedRun>,
    /// How far their data shrink.
    pub fits: Fits,
}

/// The runs of `experiments`, one of which each file is.
pub fn planned<'a>(experiments: impl IntoIterator<Item = &'a Experiment>) -> Planned {
    let of_file = |(file, experiment)| runs(experiment).into_iter().map(move |run| PlannedRun { file, ..run });
    let runs: Vec<PlannedRun> = experiments.into_iter().enumerate().flat_map(of_file).collect();
    let fits = fits(runs.iter().map(|run| &run.experiment));
    Planned { runs, fits }
}

impl Planned {
    /// The runs with their data shrunk.
    pub fn fitted(&self) -> Vec<PlannedRun> {
        let shrunk = |run: &PlannedRun| {
            let run = run.clone();
            let fit = fit_of(&run.experiment, &self.fits);
            PlannedRun { experiment: fitted(run.experiment, fit), ..run }
        };
        self.runs.iter().map(shrunk).collect()
    }
}

/// The runs of `experiment`. Where its combinations are repeated until their intervals are narrow, all that may be
/// needed.
pub fn runs(experiment: &Experiment) -> Vec<PlannedRun> {
    let rules = &experiment.rules;
    let combinations = experiment.combinations();
    let repeats = rules.until.map_or(rules.repeats, |(_, most)| most);
    let places = in_order(rules.order, combinations.len(), repeats, experiment.seed);
    let swept = places.into_iter().map(|(combination, repeat)| PlannedRun {
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

/// Every combination with every repeat (from 1), in order.
fn in_order(order: Order, combinations: usize, repeats: u32, seed: u64) -> Vec<(usize, u32)> {
    let written = (0..combinations).flat_map(|combination| (1..=repeats).map(move |repeat| (combination, repeat)));
    match order {
        Order::Written => written.collect(),
        Order::Interleaved => {
            (1..=repeats).flat_map(|repeat| (0..combinations).map(move |combination| (combination, repeat))).collect()
        }
        Order::Shuffled => {
            let mut places: Vec<usize> = written.map(|(combination, _)| combination).collect();
            places.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
            numbered(&places, combinations)
        }
    }
}

/// The repeats of each combination counted in the order in which they come.
fn numbered(places: &[usize], combinations: usize) -> Vec<(usize, u32)> {
    let mut seen = vec![0; combinations];
    let count = |combination: &usize| {
        seen[*combination] += 1;
        (*combination, seen[*combination])
    };
    places.iter().map(count).collect()
}

/// The reference first, as every `every`-th run after it, and last.
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

/// Whether a reference can be left out: `done` runs were done since the last one, `may_follow` may be done until the
/// next. Of every `every` runs one is the reference, and the last run is one.
pub(super) fn is_idle_reference(done: usize, may_follow: usize, is_last: bool, every: u32) -> bool {
    if is_last { done == 0 } else { done + may_follow < every as usize }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn written_keeps_repeats_together_and_interleaved_apart() {
        assert_eq!(in_order(Order::Written, 2, 2, 1), [(0, 1), (0, 2), (1, 1), (1, 2)]);
        assert_eq!(in_order(Order::Interleaved, 2, 2, 1), [(0, 1), (1, 1), (0, 2), (1, 2)]);
        assert_eq!(in_order(Order::Written, 1, 1, 1), [(0, 1)]);
    }

    #[test]
    fn shuffled_is_another_order_of_the_same_runs_and_the_seeds_alone() {
        let all = |seed| in_order(Order::Shuffled, 10, 3, seed);
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
        assert_ne!(all(1), in_order(Order::Written, 10, 3, 1));
        let set: BTreeSet<(usize, u32)> = all(1).into_iter().collect();
        assert_eq!(set.into_iter().collect::<Vec<_>>(), in_order(Order::Written, 10, 3, 1));
        let first: Vec<u32> =
            all(1).into_iter().filter(|(combination, _)| *combination == 4).map(|run| run.1).collect();
        assert_eq!(first, [1, 2, 3], "repeats count in the order in which they run");
    }

    #[test]
    fn a_reference_runs_where_without_it_too_many_runs_would_have_none() {
        assert!(is_idle_reference(0, 3, false, 4), "references in a row");
        assert!(is_idle_reference(1, 2, false, 4), "the next one comes soon enough");
        assert!(!is_idle_reference(1, 3, false, 4));
        assert!(!is_idle_reference(3, 3, false, 4));
        assert!(is_idle_reference(0, 0, true, 4) && !is_idle_reference(1, 0, true, 4), "the last run is one");
    }
}
