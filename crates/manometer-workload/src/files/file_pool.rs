//! The pool of files: which exist, and which a thread has taken.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Names of files, each of an existing file, of an absent file, or taken by one thread.
#[derive(Debug)]
pub(super) struct FilePool {
    names: Mutex<PoolState>,
    put_back: Condvar,
}

#[derive(Debug)]
struct PoolState {
    present: Vec<u32>,
    absent: Vec<u32>,
    taken: u32,
    closed: bool,
}

/// A taken name; no other thread has it until it is put back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeasedFile(pub(super) u32);

/// Whether a file exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileState {
    /// It exists.
    Present,
    /// It does not exist.
    Absent,
}

impl FilePool {
    /// `files` names, of which `present` at random are those of existing files.
    pub(super) fn new(files: u64, present: u64, random: &mut Xoshiro256PlusPlus) -> Self {
        let mut present_names: Vec<u32> = (0..u32::try_from(files).unwrap_or(u32::MAX)).collect();
        present_names.shuffle(random);
        let absent = present_names.split_off(usize::try_from(present).unwrap_or(usize::MAX).min(present_names.len()));
        let names = PoolState { present: present_names, absent, taken: 0, closed: false };
        Self { names: Mutex::new(names), put_back: Condvar::new() }
    }

    /// The names of existing files.
    pub(super) fn present(&self) -> Vec<u32> {
        self.lock().present.clone()
    }

    /// Takes a random name; waits while other threads have all of them. Nothing where there is none, or once closed.
    pub(super) fn take(&self, wanted: FileState, random: &mut Xoshiro256PlusPlus) -> Option<LeasedFile> {
        let mut names = self.lock();
        loop {
            let from = if wanted == FileState::Present { &mut names.present } else { &mut names.absent };
            if !from.is_empty() {
                let at = random.random_range(0..from.len());
                let name = from.swap_remove(at);
                names.taken += 1;
                return Some(LeasedFile(name));
            }
            if names.taken == 0 || names.closed {
                return None;
            }
            names = self.put_back.wait(names).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Puts back a name with the new state of its file.
    pub(super) fn put(&self, taken_file: LeasedFile, state: FileState) {
        let mut names = self.lock();
        names.taken -= 1;
        match state {
            FileState::Present => names.present.push(taken_file.0),
            FileState::Absent => names.absent.push(taken_file.0),
        }
        drop(names);
        // Waiting threads may want different states.
        self.put_back.notify_all();
    }

    /// Releases waiting threads, for good.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.put_back.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
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
    fn the_seed_decides_which_files_exist() {
        let of = |seed| FilePool::new(100, 80, &mut random(seed)).present();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_eq!(of(1).into_iter().collect::<BTreeSet<_>>().len(), 80);
    }

    #[test]
    fn a_name_is_taken_once_and_returns_with_its_state() {
        let pool = FilePool::new(5, 3, &mut random(1));
        let mut random = random(2);
        let held: Vec<LeasedFile> = (0..3).map_while(|_| pool.take(FileState::Present, &mut random)).collect();
        assert_eq!(held.iter().map(|taken_file| taken_file.0).collect::<BTreeSet<_>>().len(), 3);
        held.into_iter().for_each(|taken_file| pool.put(taken_file, FileState::Absent));
        assert_eq!(pool.take(FileState::Present, &mut random), None, "none exists, and no thread has one");
        let absent: Vec<LeasedFile> = (0..5).map_while(|_| pool.take(FileState::Absent, &mut random)).collect();
        assert_eq!(absent.len(), 5);
    }

    #[test]
    fn a_thread_waits_for_a_name_or_for_the_end() {
        let pool = FilePool::new(2, 1, &mut random(1));
        let held = pool.take(FileState::Present, &mut random(2)).unwrap();
        std::thread::scope(|threads| {
            let (sender, receiver) = channel();
            let pool = &pool;
            let waiting = threads.spawn(move || {
                sender.send(()).unwrap();
                pool.take(FileState::Present, &mut random(3))
            });
            receiver.recv().unwrap();
            let name = held.0;
            pool.put(held, FileState::Present);
            assert_eq!(waiting.join().unwrap(), Some(LeasedFile(name)));
            let waiting = threads.spawn(|| pool.take(FileState::Present, &mut random(3)));
            pool.close();
            assert_eq!(waiting.join().unwrap(), None);
        });
    }
}
