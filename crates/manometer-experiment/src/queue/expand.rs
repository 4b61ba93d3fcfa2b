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

/// Whether nothing needs the reference `index` of `runs`: one has to run wherever otherwise more than `reference_every`
/// − 1 runs in a row would have none, and last. `done` says of a run before it whether it was done, `needless` of one
/// behind it whether it surely will not be.
pub(super) fn is_idle_reference(
    runs: &[&PlannedRun],
    index: usize,
    done: impl Fn(usize) -> bool,
    needless: impl Fn(usize) -> bool,
) -> bool {
    let rules = &runs[index].experiment.rules;
    let Some(every) = rules.reference_every.filter(|_| runs[index].combination.is_none()) else { return false };
    let is_own = |other: &usize| runs[*other].file == runs[index].file;
    let is_reference = |other: &usize| runs[*other].combination.is_none();
    let Some(last) = (0..index).filter(is_own).rfind(|other| is_reference(other) && done(*other)) else { return false };
    let since = (last + 1..index).filter(is_own).filter(|other| done(*other)).count();
    let next = (index + 1..runs.len()).filter(is_own).find(is_reference);
    let Some(next) = next else { return since == 0 };
    let following: Vec<usize> = (index + 1..next).filter(is_own).collect();
    let room = (every as usize).saturating_sub(since);
    // What is needless may take a while to tell: it is asked no more often than it must.
    following.len() < room || following.into_iter().filter(|other| !needless(*other)).take(room).count() < room
}

/// Which of `runs` run where every combination is narrow as soon as it may be.
pub(super) fn needed(runs: &[&PlannedRun]) -> Vec<bool> {
    let mut needed = vec![false; runs.len()];
    for index in 0..runs.len() {
        let may_be_left = |other: usize| {
            let run = runs[other];
            run.combination.is_some() && run.repeat > run.experiment.rules.repeats
        };
        let is_narrow = |other: usize| {
            let same =
                |one: &usize| (runs[*one].file, runs[*one].combination) == (runs[other].file, runs[other].combination);
            let done = (0..index).filter(same).filter(|one| needed[*one]).count();
            may_be_left(other) && done >= runs[other].experiment.rules.repeats as usize
        };
        needed[index] = !may_be_left(index) && !is_idle_reference(runs, index, |other| needed[other], is_narrow);
    }
    needed
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

    /// Which runs of a sweep of two combinations are needed, `r` a reference, by the words of its `[sweep]`.
    fn needed_of(words: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n[primary]\nrecords = 10\n[plan]\n\
             phase = \"1s\"\n[sweep]\n\"primary.threads\" = [1, 2]\n{words}\n"
        );
        std::fs::write(&path, text).unwrap();
        let runs = runs(&crate::file::load(&path, &[]).unwrap());
        let all: Vec<&PlannedRun> = runs.iter().collect();
        let letter = |run: &PlannedRun| run.combination.map_or('r', |place| if place == 0 { 'a' } else { 'b' });
        let kept = all.iter().zip(needed(&all)).filter(|(_, needed)| *needed);
        kept.map(|(run, _)| letter(run)).collect()
    }

    #[test]
    fn a_reference_runs_where_without_it_too_many_runs_would_have_none() {
        assert_eq!(needed_of("repeats = 2\nreference_every = 2"), "rararbrbr");
        assert_eq!(needed_of("repeats = 2\nreference_every = 4"), "raabrbr");
        let stop = "stop = { interval = \"5%\", at_most = 9 }";
        assert_eq!(needed_of(&format!("{stop}\nreference_every = 3")), "raarabrbbr");
        assert_eq!(needed_of(&format!("{stop}\nreference_every = 4")), "raaarbbbr", "none in a row");
        assert_eq!(needed_of(&format!("{stop}\nreference_every = 100")), "raaabbbr");
    }
}
