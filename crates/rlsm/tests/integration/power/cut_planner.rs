//! Where the power is cut.

use std::collections::BTreeMap;

use manometer_testing::power::{Cut, Marker, Recording, UnflushedFate};
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The number of cuts at each fail point.
#[derive(Debug, Default)]
pub struct CutPlanner(BTreeMap<String, u64>);

impl CutPlanner {
    pub fn cuts_at(&self, point: &str) -> u64 {
        self.0.get(point).copied().unwrap_or(0)
    }

    /// Chooses cuts, in order: a quarter of them anywhere, the others at the fail points with the fewest cuts, rare
    /// points first.
    pub fn choose(&mut self, recording: &Recording, count: usize, chance: &mut Xoshiro256PlusPlus) -> Vec<Cut> {
        let reached = reached(recording);
        for point in reached.keys() {
            self.0.entry((*point).to_owned()).or_default();
        }
        let cut = |index| {
            let after = match index % 4 {
                0 => chance.random_range(0..=recording.entries.len()),
                _ => self.next(&reached, chance),
            };
            let fate = [UnflushedFate::Done, UnflushedFate::Lost, UnflushedFate::Any, UnflushedFate::Any]
                [chance.random_range(0..4)];
            Cut { after, fate, seed: chance.random() }
        };
        let mut cuts: Vec<_> = (0..count).map(cut).collect();
        cuts.sort_unstable_by_key(|cut| cut.after);
        cuts
    }

    fn next(&mut self, reached: &BTreeMap<&str, Vec<usize>>, chance: &mut Xoshiro256PlusPlus) -> usize {
        let here = self.0.iter_mut().filter(|(point, _)| reached.contains_key(&***point));
        let (point, cuts) = here.min_by_key(|(point, cuts)| (**cuts, reached[&***point].len())).unwrap();
        *cuts += 1;
        let places = &reached[&**point];
        places[chance.random_range(0..places.len())]
    }
}

/// For each fail point, the positions in the recording at which it was reached.
fn reached(recording: &Recording) -> BTreeMap<&str, Vec<usize>> {
    let mut reached = BTreeMap::<_, Vec<_>>::new();
    for (index, entry) in recording.entries.iter().enumerate() {
        if let Some(Marker::Reached(point)) = &entry.marker {
            reached.entry(&**point).or_default().push(index + 1);
        }
    }
    reached
}
