//! Which files are there, and which of them a thread has in hand.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Names of files, each there, not there, or in one thread's hand.
#[derive(Debug)]
pub(super) struct Entries {
    names: Mutex<Names>,
    put_back: Condvar,
}

#[derive(Debug)]
struct Names {
    present: Vec<u32>,
    absent: Vec<u32>,
    in_hand: u32,
    closed: bool,
}

/// A name in hand; it is nobody else's until it is put back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry(pub(super) u32);

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The name of a file that is there.
    Present,
    /// The name of a file that is not there.
    Absent,
}

impl Entries {
    /// `files` names, `present` of which chance makes those that are there.
    pub(super) fn new(files: u64, present: u64, random: &mut Xoshiro256PlusPlus) -> Self {
        let mut present_names: Vec<u32> = (0..u32::try_from(files).unwrap_or(u32::MAX)).collect();
        present_names.shuffle(random);
        let absent = present_names.split_off(usize::try_from(present).unwrap_or(usize::MAX).min(present_names.len()));
        let names = Names { present: present_names, absent, in_hand: 0, closed: false };
        Self { names: Mutex::new(names), put_back: Condvar::new() }
    }

    /// The names of the files that are there.
    pub(super) fn present(&self) -> Vec<u32> {
        self.lock().present.clone()
    }

    /// Takes a name at random; waits where others have all of them in hand. Nothing where there is none, or once closed.
    pub(super) fn take(&self, wanted: Wanted, random: &mut Xoshiro256PlusPlus) -> Option<Entry> {
        let mut names = self.lock();
        loop {
            let from = if wanted == Wanted::Present { &mut names.present } else { &mut names.absent };
            if !from.is_empty() {
                let at = random.random_range(0..from.len());
                let name = from.swap_remove(at);
                names.in_hand += 1;
                return Some(Entry(name));
            }
            if names.in_hand == 0 || names.closed {
                return None;
            }
            names = self.put_back.wait(names).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Puts a name back, as that of a file that is now there or not.
    pub(super) fn put(&self, entry: Entry, state: Wanted) {
        let mut names = self.lock();
        names.in_hand -= 1;
        match state {
            Wanted::Present => names.present.push(entry.0),
            Wanted::Absent => names.absent.push(entry.0),
        }
        drop(names);
        // Those that wait may want different ones.
        self.put_back.notify_all();
    }

    /// Lets go who waits, for good.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.put_back.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::mpsc::channel;

    use rand_xoshiro::rand_core::SeedableRng as _;

    use super::*;

    fn random(seed: u64) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(seed)
    }

    #[test]
    fn the_seed_says_which_files_are_there() {
        let of = |seed| Entries::new(100, 80, &mut random(seed)).present();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_eq!(of(1).into_iter().collect::<BTreeSet<_>>().len(), 80);
    }

    #[test]
    fn a_name_is_in_one_hand_only_and_goes_where_it_is_put() {
        let entries = Entries::new(5, 3, &mut random(1));
        let mut random = random(2);
        let held: Vec<Entry> = (0..3).map_while(|_| entries.take(Wanted::Present, &mut random)).collect();
        assert_eq!(held.iter().map(|entry| entry.0).collect::<BTreeSet<_>>().len(), 3);
        held.into_iter().for_each(|entry| entries.put(entry, Wanted::Absent));
        assert_eq!(entries.take(Wanted::Present, &mut random), None, "none is there, and nobody has one");
        let absent: Vec<Entry> = (0..5).map_while(|_| entries.take(Wanted::Absent, &mut random)).collect();
        assert_eq!(absent.len(), 5);
    }

    #[test]
    fn who_finds_all_in_other_hands_waits_for_one_or_for_the_end() {
        let entries = Entries::new(2, 1, &mut random(1));
        let held = entries.take(Wanted::Present, &mut random(2)).unwrap();
        std::thread::scope(|threads| {
            let (sender, receiver) = channel();
            let entries = &entries;
            let waiting = threads.spawn(move || {
                sender.send(()).unwrap();
                entries.take(Wanted::Present, &mut random(3))
            });
            receiver.recv().unwrap();
            let name = held.0;
            entries.put(held, Wanted::Present);
            assert_eq!(waiting.join().unwrap(), Some(Entry(name)));
            let waiting = threads.spawn(|| entries.take(Wanted::Present, &mut random(3)));
            entries.close();
            assert_eq!(waiting.join().unwrap(), None);
        });
    }
}
