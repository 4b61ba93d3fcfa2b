//! The epochs under `loom`, which tries every interleaving and every order of memory that the language permits.
//!
//! The world is one directory that its owner closes. One thread closes it as the cache's users do; one looks the world
//! up and keeps what it saw; one reads what is kept. Whoever begins after the change has returned, or after somebody saw
//! the new world, must not be told the old one.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

#[expect(clippy::duplicate_mod, reason = "the same epochs with loom's atomics")]
#[path = "subtrees.rs"]
#[expect(dead_code, reason = "the tests do not count bytes")]
mod subtrees;

#[expect(clippy::duplicate_mod, reason = "the same versions with loom's atomics")]
#[path = "leaves.rs"]
mod leaves;

mod sync {
    pub(super) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    pub(super) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }
    }
}

use self::leaves::Leaves;
use self::subtrees::{Scope, Subtrees};

const PREFIX: u64 = 0;

/// What is kept: what was seen, and the epoch at which it was right.
#[derive(Clone, Copy)]
struct Kept {
    is_searchable: bool,
    stamp: u64,
}

struct World {
    is_searchable: AtomicBool,
    is_closed: AtomicBool,
    subtrees: Subtrees,
    leaves: Leaves,
    kept: loom::sync::Mutex<Option<Kept>>,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            is_searchable: AtomicBool::new(true),
            is_closed: AtomicBool::new(false),
            subtrees: Subtrees::new(1),
            leaves: Leaves::new(1),
            kept: loom::sync::Mutex::new(None),
        })
    }

    fn fill_by_epoch(&self) {
        let stamp = self.subtrees.now();
        let is_searchable = self.is_searchable.load(Ordering::Acquire);
        if !self.subtrees.is_open([PREFIX].into_iter()) {
            *self.kept.lock().unwrap() = Some(Kept { is_searchable, stamp });
        }
    }

    fn close_by_epoch(&self) {
        self.subtrees.begin(&[(Scope::Permission, PREFIX)]);
        self.is_searchable.store(false, Ordering::Release);
        self.subtrees.end(&[(Scope::Permission, PREFIX)]);
        self.is_closed.store(true, Ordering::Release);
    }

    /// What the cache answers, if it does; it stamps anew what it found to be right.
    fn cached(&self) -> Option<bool> {
        let kept = (*self.kept.lock().unwrap())?;
        let now = self.subtrees.now();
        if kept.stamp != now && !self.subtrees.is_current(Scope::Permission, kept.stamp, [PREFIX].into_iter()) {
            return None;
        }
        if let Some(same) = self.kept.lock().unwrap().as_mut().filter(|same| same.stamp == kept.stamp) {
            same.stamp = same.stamp.max(now);
        }
        Some(kept.is_searchable)
    }

    fn read(&self) {
        let is_new = self.is_closed.load(Ordering::Acquire) || !self.is_searchable.load(Ordering::Acquire);
        if is_new {
            assert_ne!(self.cached(), Some(true), "the cache grants what was taken away before the question");
        } else {
            self.cached();
        }
    }

    fn fill_by_version(&self) {
        let version = self.leaves.version(PREFIX);
        let is_searchable = self.is_searchable.load(Ordering::Acquire);
        let mut kept = self.kept.lock().unwrap();
        if self.leaves.is_current(PREFIX, version) {
            *kept = Some(Kept { is_searchable, stamp: 0 });
        }
    }

    fn close_by_version(&self) {
        self.leaves.begin(PREFIX);
        *self.kept.lock().unwrap() = None;
        self.is_searchable.store(false, Ordering::Release);
        self.leaves.end(PREFIX);
    }
}

fn explore(run: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(run);
}

#[test]
fn a_change_of_a_subtree_ends_every_older_grant() {
    explore(|| {
        let world = World::new();
        let others: Vec<_> = [World::close_by_epoch, World::fill_by_epoch]
            .map(|act| {
                let world = Arc::clone(&world);
                thread::spawn(move || act(&world))
            })
            .into();
        world.read();
        others.into_iter().for_each(|other| other.join().unwrap());
        world.read();
    });
}

#[test]
fn a_reader_that_stamps_anew_does_not_revive_an_old_grant() {
    explore(|| {
        let world = World::new();
        world.fill_by_epoch();
        let changer = Arc::clone(&world);
        let changer = thread::spawn(move || changer.close_by_epoch());
        let reader = Arc::clone(&world);
        let reader = thread::spawn(move || reader.read());
        world.read();
        changer.join().unwrap();
        reader.join().unwrap();
        world.read();
    });
}

#[test]
fn a_look_up_that_a_change_overtakes_is_not_kept() {
    explore(|| {
        let world = World::new();
        let others: Vec<_> = [World::close_by_version, World::fill_by_version]
            .map(|act| {
                let world = Arc::clone(&world);
                thread::spawn(move || act(&world))
            })
            .into();
        let is_new = !world.is_searchable.load(Ordering::Acquire);
        let kept = world.kept.lock().unwrap().map(|kept| kept.is_searchable);
        assert!(!is_new || kept != Some(true), "an old look-up is kept");
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_ne!(world.kept.lock().unwrap().map(|kept| kept.is_searchable), Some(true));
    });
}
