//! Random reads, writes, syncs, advice and resizes from several threads, against a plain array of bytes, with so little
//! memory that every access recycles.

use std::os::unix::fs::FileExt as _;

use recycle::{Advice, Faults, Mapping, Options, Policy, Region, Replacement};

use crate::support::{Chance, PAGE, byte_at, filled, map, open, pages, setting};

const THREADS: u64 = 3;
const STEPS: u64 = 400;
const ROUNDS: u64 = 3;

/// Bytes in a row that belong to one thread: pages are shared, bytes are not.
const STRIPE: u64 = 96;

/// A region behind either door, as all threads use it.
enum Subject {
    Pinned(Region),
    Mapped(Mapping),
}

/// The mapping's bytes, which each thread uses in its own stripes only.
#[derive(Clone, Copy)]
struct Bytes(*mut u8);

// SAFETY: the threads of this test never use the same byte.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Subject {
    fn read(&self, offset: u64, length: u64, by_address: bool) -> Vec<u8> {
        let mut bytes = vec![0; length as usize];
        match self {
            Self::Pinned(region) => region.read_at(offset, &mut bytes).unwrap(),
            Self::Mapped(mapping) if by_address => {
                let start = mapping.as_mut_ptr().wrapping_add(offset as usize);
                // SAFETY: the bytes are within the mapping, and of this thread.
                unsafe { std::ptr::copy_nonoverlapping(start, bytes.as_mut_ptr(), bytes.len()) };
            }
            Self::Mapped(mapping) => mapping.read_at(offset, &mut bytes).unwrap(),
        }
        bytes
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        match self {
            Self::Pinned(region) => region.write_at(offset, bytes).unwrap(),
            Self::Mapped(mapping) => {
                let start = Bytes(mapping.as_mut_ptr().wrapping_add(offset as usize));
                // SAFETY: the bytes are within the mapping, and of this thread.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.0, bytes.len()) };
            }
        }
    }

    fn sync(&self, range: std::ops::Range<u64>) {
        match self {
            Self::Pinned(region) => region.sync_range(range).unwrap(),
            Self::Mapped(mapping) => mapping.sync_range(range).unwrap(),
        }
    }

    fn advise(&self, range: std::ops::Range<u64>, advice: Advice) {
        match self {
            Self::Pinned(region) => region.advise(range, advice).unwrap(),
            Self::Mapped(mapping) => mapping.advise(range, advice).unwrap(),
        }
    }

    fn resize(&mut self, len: u64) {
        match self {
            Self::Pinned(region) => region.resize(len).unwrap(),
            Self::Mapped(mapping) => mapping.resize(len).unwrap(),
        }
    }
}

/// What one thread does; `model` has the bytes of its own stripes.
fn work(subject: &Subject, me: u64, len: u64, model: &mut [u8], mut chance: Chance) {
    let advices = [Advice::Normal, Advice::Random, Advice::Sequential, Advice::WillNeed, Advice::DontNeed];
    for step in 0..STEPS {
        let stripes = len / STRIPE / THREADS;
        let offset = (chance.below(stripes) * THREADS + me) * STRIPE;
        let length = 1 + chance.below(STRIPE);
        let (start, end) = (offset as usize, (offset + length) as usize);
        match chance.below(20) {
            0..9 => {
                let read = subject.read(offset, length, chance.below(3) > 0);
                assert!(read == model[start..end], "step {step} of thread {me}: {length} bytes at {offset} are wrong");
            }
            9..18 => {
                let bytes: Vec<u8> = (0..length).map(|_| chance.below(256) as u8).collect();
                subject.write(offset, &bytes);
                model[start..end].copy_from_slice(&bytes);
            }
            18 => subject.sync(offset..offset + 10 * PAGE),
            _ => subject.advise(offset..offset + 10 * PAGE, advices[chance.below(5) as usize]),
        }
    }
}

/// Takes the bytes of `me` from its model.
fn merge(model: &mut [u8], of_thread: &[u8], me: u64) {
    for (stripe, (to, from)) in model.chunks_mut(STRIPE as usize).zip(of_thread.chunks(STRIPE as usize)).enumerate() {
        if stripe as u64 % THREADS == me {
            to.copy_from_slice(from);
        }
    }
}

fn run(mut subject: Subject, path: &std::path::Path, mut model: Vec<u8>, chance: &mut Chance, name: &str) {
    for round in 0..ROUNDS {
        let len = model.len() as u64;
        let mut models: Vec<Vec<u8>> = (0..THREADS).map(|_| model.clone()).collect();
        std::thread::scope(|scope| {
            for (me, of_thread) in models.iter_mut().enumerate() {
                let (subject, chance) = (&subject, Chance::new(chance.below(u64::MAX)));
                scope.spawn(move || work(subject, me as u64, len, of_thread, chance));
            }
        });
        models.iter().enumerate().for_each(|(me, of_thread)| merge(&mut model, of_thread, me as u64));
        assert!(subject.read(0, len, true) == model, "{name}: round {round}: bytes are wrong");
        subject.sync(0..u64::MAX);
        assert!(std::fs::read(path).unwrap() == model, "{name}: round {round}: the file is wrong after a sync");
        let new = chance.below(90) * PAGE + chance.below(PAGE) + STRIPE * THREADS;
        subject.resize(new);
        model.resize(new as usize, 0);
    }
    let len = model.len() as u64;
    assert!(subject.read(0, len, false) == model, "{name}: bytes are wrong after the last resize");
    drop(subject);
    assert!(std::fs::read(path).unwrap() == model, "{name}: the file is wrong after the end");
}

fn sequences(door: fn(&std::fs::File, &Options) -> Subject, faults: Faults, least: u64, seed: u64) {
    let mut chance = Chance::new(setting("RECYCLE_SEED", seed));
    for sequence in 0..setting("RECYCLE_SEQUENCES", 3) {
        for policy in Policy::ALL {
            for replacement in Replacement::ALL {
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().join("file");
                let len = (20 + chance.below(80)) * PAGE + chance.below(PAGE);
                std::fs::write(&path, filled(len)).unwrap();
                let budget = least + chance.below(60);
                let read_ahead = chance.below(3) * 32 * PAGE;
                let shape = Options { policy: *policy, replacement: *replacement, faults, read_ahead, ..pages(budget) };
                let name = format!("{} {} {budget} pages, sequence {sequence}", policy.name(), replacement.name());
                run(door(&open(&path), &shape), &path, filled(len), &mut chance, &name);
            }
        }
    }
}

#[test]
fn pinned_pages_are_those_of_the_model() {
    // A pin of each thread, and one for whoever needs room.
    sequences(|file, options| Subject::Pinned(Region::open(file, options).unwrap()), Faults::Signal, THREADS + 1, 1);
}

#[test]
fn bytes_mapped_with_signals_are_those_of_the_model() {
    sequences(|file, options| Subject::Mapped(map(file, options).unwrap()), Faults::Signal, 4, 2);
}

#[test]
fn bytes_mapped_with_a_thread_are_those_of_the_model() {
    sequences(|file, options| Subject::Mapped(map(file, options).unwrap()), Faults::Thread, 4, 3);
}

/// Bytes across the end of a page, where all other pages of the budget are dirty: no policy may let the two pages evict
/// each other for ever.
#[test]
fn an_access_across_pages_ends_with_every_policy() {
    for (policy, replacement) in
        Policy::ALL.iter().flat_map(|policy| Replacement::ALL.iter().map(move |r| (*policy, *r)))
    {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, filled(40 * PAGE)).unwrap();
        let options = Options { policy, replacement, read_ahead: 0, ..pages(5) };
        let mut mapping = map(&open(&path), &options).unwrap();
        for round in 1..20 {
            (0..5).for_each(|page| mapping.as_mut_slice().unwrap()[(page * PAGE) as usize] = 7);
            let across = (round * 2 * PAGE - 8) as usize;
            let read = &mapping[across..across + 16];
            assert!((0..16).all(|at| at == 8 && round < 3 || read[at] == byte_at((across + at) as u64)));
        }
    }
}

#[test]
fn a_sync_holds_the_write_just_before_it() {
    for faults in [Faults::Signal, Faults::Thread] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, filled(200 * PAGE)).unwrap();
        let mut mapping = map(&open(&path), &Options { faults, ..pages(16) }).unwrap();
        let file = open(&path);
        for step in 0..4000 {
            let place = step * 37 % 200 * PAGE;
            let value = step.to_le_bytes()[0];
            mapping.as_mut_slice().unwrap()[place as usize] = value;
            mapping.sync().unwrap();
            let mut byte = [0];
            file.read_exact_at(&mut byte, place).unwrap();
            assert_eq!(byte[0], value, "{faults:?}, step {step}");
        }
    }
}

#[test]
fn regions_that_share_a_budget_keep_their_own_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let budget = recycle::Budget::new(&pages(9)).unwrap();
    let options = Options { budget: Some(budget.clone()), ..Options::default() };
    let paths: Vec<_> = (0..3).map(|number| directory.path().join(format!("{number}"))).collect();
    let len = 40 * PAGE;
    paths.iter().for_each(|path| std::fs::write(path, filled(len)).unwrap());
    let mut subjects = vec![
        Subject::Pinned(Region::open(&open(&paths[0]), &options).unwrap()),
        Subject::Mapped(map(&open(&paths[1]), &options).unwrap()),
        Subject::Pinned(Region::open(&open(&paths[2]), &options).unwrap()),
    ];
    let mut models = vec![filled(len); 3];
    std::thread::scope(|scope| {
        for (number, (subject, model)) in subjects.iter().zip(&mut models).enumerate() {
            scope.spawn(move || work(subject, 0, len, model, Chance::new(number as u64)));
        }
    });
    let held: usize = subjects.len();
    assert!(budget.counters().pages_recycled > 9 && held == 3);
    subjects.iter().zip(&models).for_each(|(subject, model)| assert!(subject.read(0, len, true) == *model));
    // One goes, the others have its room.
    drop(subjects.remove(0));
    subjects.iter().zip(&models[1..]).for_each(|(subject, model)| assert!(subject.read(0, len, true) == *model));
    drop(subjects);
    paths.iter().zip(&models).for_each(|(path, model)| assert!(std::fs::read(path).unwrap() == *model));
}
