//! The database against a `BTreeMap`: random operations, flushes, compactions, snapshots and reopenings.

use std::ops::Bound;
use std::sync::Arc;

use proptest::prelude::*;
use rlsm::storage::Storage;
use rlsm::storage::simulated::SimulatedStorage;
use rlsm::{Compression, Database, Flush, Maintenance, Options, Snapshot, Sync};

use crate::support::{Model, READS, Write, all, batch, collect};

#[derive(Debug, Clone)]
enum Step {
    Write(Write),
    Batch(Vec<Write>),
    /// Puts of fresh keys, to fill the memtable: the first key's number, and how many.
    Fill(u16, u16),
    Get(Vec<u8>),
    Range(Bound<Vec<u8>>, Bound<Vec<u8>>),
    Prefix(Vec<u8>),
    Walk(Vec<Move>),
    Snapshot,
    Release(usize),
    Flush,
    Compact,
    Settle,
    Reopen,
}

#[derive(Debug, Clone)]
enum Move {
    Seek(Vec<u8>),
    SeekForPrevious(Vec<u8>),
    First,
    Last,
    Forward,
    Backward,
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => (0_u16..400).prop_map(|number| format!("key{number:05}").into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ]
}

fn write() -> impl Strategy<Value = Write> {
    prop_oneof![
        6 => (key(), prop::collection::vec(any::<u8>(), 0..600)).prop_map(|(key, value)| Write::Put(key, value)),
        2 => key().prop_map(Write::Delete),
        1 => (key(), key()).prop_filter_map("an empty range", |(one, other)| match one.cmp(&other) {
            std::cmp::Ordering::Less => Some(Write::DeleteRange(one, other)),
            std::cmp::Ordering::Greater => Some(Write::DeleteRange(other, one)),
            std::cmp::Ordering::Equal => None,
        }),
    ]
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![key().prop_map(Bound::Included), key().prop_map(Bound::Excluded), Just(Bound::Unbounded)]
}

fn walk() -> impl Strategy<Value = Move> {
    prop_oneof![
        1 => key().prop_map(Move::Seek),
        1 => key().prop_map(Move::SeekForPrevious),
        1 => Just(Move::First),
        1 => Just(Move::Last),
        6 => Just(Move::Forward),
        6 => Just(Move::Backward),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => write().prop_map(Step::Write),
        4 => prop::collection::vec(write(), 1..10).prop_map(Step::Batch),
        4 => (any::<u16>(), 1_u16..200).prop_map(|(from, count)| Step::Fill(from, count)),
        1 => (any::<u16>(), 200_u16..1500).prop_map(|(from, count)| Step::Fill(from, count)),
        10 => key().prop_map(Step::Get),
        2 => (bound(), bound()).prop_map(|(low, high)| Step::Range(low, high)),
        1 => key().prop_map(Step::Prefix),
        2 => prop::collection::vec(walk(), 1..30).prop_map(Step::Walk),
        2 => Just(Step::Snapshot),
        1 => any::<usize>().prop_map(Step::Release),
        3 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => Just(Step::Settle),
        2 => Just(Step::Reopen),
    ]
}

struct Pair {
    options: Options,
    storage: Arc<dyn Storage>,
    database: Option<Database>,
    model: Model,
    snapshots: Vec<(Snapshot, Model)>,
}

impl Pair {
    fn new(options: Options) -> Self {
        let storage: Arc<dyn Storage> = Arc::new(SimulatedStorage::new(1));
        let database = Some(options.open_on(Arc::clone(&storage)).unwrap());
        Self { options, storage, database, model: Model::new(), snapshots: Vec::new() }
    }

    fn database(&self) -> &Database {
        self.database.as_ref().unwrap()
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Write(write) => self.write(&[write]),
            Step::Batch(writes) => self.write(&writes),
            Step::Fill(from, count) => {
                for number in 0..count {
                    let key = format!("fill{:05}", u32::from(from).wrapping_add(u32::from(number) * 7919) % 65_536);
                    self.write(&[Write::Put(key.into_bytes(), vec![number as u8; 300])]);
                }
            }
            Step::Get(key) => {
                assert_eq!(self.database().get(&key).unwrap().as_deref(), self.model.get(&key).map(|value| &**value));
                for (snapshot, model) in &self.snapshots {
                    let got = self.database().get_at(&key, snapshot).unwrap();
                    assert_eq!(got.as_deref(), model.get(&key).map(|value| &**value));
                }
            }
            Step::Range(low, high) => self.range(low, high),
            Step::Prefix(prefix) => {
                let got = collect(self.database().prefix(&prefix).unwrap()).unwrap();
                assert!(got.iter().eq(self.model.iter().filter(|(key, _)| key.starts_with(&prefix))));
            }
            Step::Walk(moves) => self.walk(moves),
            Step::Snapshot => self.snapshots.push((self.database().snapshot(), self.model.clone())),
            Step::Release(which) => {
                if !self.snapshots.is_empty() {
                    self.snapshots.swap_remove(which % self.snapshots.len());
                }
            }
            Step::Flush => self.database().flush().unwrap(),
            Step::Compact => self.database().compact().unwrap(),
            Step::Settle => self.database().settle().unwrap(),
            Step::Reopen => {
                self.snapshots.clear();
                self.database = None;
                self.database = Some(self.options.open_on(Arc::clone(&self.storage)).unwrap());
            }
        }
    }

    fn write(&mut self, writes: &[Write]) {
        self.database().write(batch(writes)).unwrap();
        writes.iter().for_each(|write| write.apply(&mut self.model));
    }

    fn range(&self, low: Bound<Vec<u8>>, high: Bound<Vec<u8>>) {
        let range = (low.as_ref().map(Vec::as_slice), high.as_ref().map(Vec::as_slice));
        let is_in = |key: &[u8]| std::ops::RangeBounds::<&[u8]>::contains(&range, &key);
        let check = |got: &Model, model: &Model| {
            let expected: Vec<_> = model.iter().filter(|(key, _)| is_in(key)).collect();
            let shown = |key: &Vec<u8>| key.escape_ascii().to_string();
            assert!(got.keys().map(shown).eq(expected.iter().map(|(key, _)| shown(key))));
            assert!(got.iter().eq(expected));
        };
        check(&collect(self.database().range(range).unwrap()).unwrap(), &self.model);
        if let Some((snapshot, model)) = self.snapshots.first() {
            check(&collect(self.database().range_at(range, snapshot).unwrap()).unwrap(), model);
        }
    }

    fn walk(&self, moves: Vec<Move>) {
        let mut iter = self.database().range(..).unwrap();
        let entries: Vec<(&[u8], &[u8])> = self.model.iter().map(|(key, value)| (&**key, &**value)).collect();
        let mut at: Option<usize> = None;
        for step in moves {
            match step {
                Move::Seek(key) => {
                    iter.seek(&key).unwrap();
                    at = Some(entries.partition_point(|(found, _)| *found < &*key));
                }
                Move::SeekForPrevious(key) => {
                    iter.seek_for_previous(&key).unwrap();
                    at = entries.partition_point(|(found, _)| *found <= &*key).checked_sub(1);
                }
                Move::First => {
                    iter.seek_to_first().unwrap();
                    at = Some(0);
                }
                Move::Last => {
                    iter.seek_to_last().unwrap();
                    at = entries.len().checked_sub(1);
                }
                Move::Forward => {
                    iter.forward().unwrap();
                    at = at.map(|at| at + 1);
                }
                Move::Backward => {
                    iter.backward().unwrap();
                    at = at.and_then(|at| at.checked_sub(1));
                }
            }
            at = at.filter(|at| *at < entries.len());
            assert_eq!(iter.entry(), at.map(|at| entries[at]));
        }
    }

    fn check_all(&self) {
        assert!(all(self.database()).unwrap() == self.model);
        for key in self.model.keys() {
            assert_eq!(self.database().get(key).unwrap().as_deref(), Some(&*self.model[key]));
        }
    }
}

fn options() -> impl Strategy<Value = Options> {
    let maintenance = prop_oneof![3 => Just(Maintenance::Inline), 1 => Just(Maintenance::Background)];
    let ways = (any::<bool>(), 0..3_u32, 0..READS.len());
    (65_536_u64..100_000, 65_536_u64..300_000, 512_u32..5000, 0..3_usize, 0.2..1.0_f64, maintenance, ways).prop_map(
        |(memtable, range, block, compression, stale, maintenance, (copies, pressure, read))| {
            let flush = if copies { Flush::Copy } else { Flush::Index };
            let compression = [Compression::None, Compression::Lz4, Compression::Zstd][compression];
            let options = match pressure {
                0 => Options::new(),
                1 => Options::new().feel_pressure(true),
                _ => Options::new().alternating_pressure(),
            };
            options
                .memtable_bytes(memtable)
                .range_bytes(range)
                .block_bytes(block)
                .level0_compression(if copies { compression } else { Compression::None })
                .level1_compression(compression)
                .stale_ratio(stale)
                .compaction_bytes(50_000)
                .flush(flush)
                .cache_bytes(1 << 20)
                .sync(Sync::Never)
                .manifest_bytes(memtable / 50)
                .read(READS[read])
                .maintenance(maintenance)
        },
    )
}

/// The number of random sequences of steps; `RLSM_SEQUENCES` overrides it.
fn cases() -> u32 {
    std::env::var("RLSM_SEQUENCES").ok().and_then(|text| text.parse().ok()).unwrap_or(500)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn the_database_agrees_with_a_map(options in options(), steps in prop::collection::vec(step(), 1..120)) {
        let mut pair = Pair::new(options);
        for step in steps {
            pair.step(step);
        }
        pair.check_all();
        pair.step(Step::Reopen);
        pair.check_all();
    }
}
