//! Tests every transform against a simple computation on the whole trace.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use manometer_trace::transform::Input;
use manometer_trace::transform::anonymise::{Anonymise, Secret};
use manometer_trace::transform::complete::MissingInserts;
use manometer_trace::transform::copies::Copies;
use manometer_trace::transform::intensify::intensify;
use manometer_trace::transform::merge::Merge;
use manometer_trace::transform::sample::{SampledTrace, SpatialFilter};
use manometer_trace::transform::scale::Scale;
use manometer_trace::transform::slice::{Slice, SliceRange};
use manometer_trace::transform::span::TraceSpan;
use manometer_trace::transform::subtrace::{Division, Subtrace};
use manometer_trace::{Record, TraceError, TraceOperation, TraceReader};
use proptest::prelude::*;

const OPERATIONS: [TraceOperation; 4] =
    [TraceOperation::Get, TraceOperation::Insert, TraceOperation::Update, TraceOperation::Delete];

/// A trace in memory, read in batches of this many records, with optional damage at its end.
struct Listed {
    records: Vec<Record>,
    piece: usize,
    damaged: bool,
}

impl TraceReader for Listed {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        batch.extend(self.records.drain(..self.piece.min(self.records.len())));
        if batch.is_empty() && std::mem::take(&mut self.damaged) {
            return Err(TraceError::Damaged { format: "listed", offset: 7, line: None, what: "cut".into() });
        }
        Ok(batch.len())
    }
}

fn input(records: &[Record]) -> Input {
    Box::new(Listed { records: records.to_vec(), piece: 7, damaged: false })
}

fn all(reader: &mut dyn TraceReader) -> Result<Vec<Record>, TraceError> {
    let (mut batch, mut records) = (Vec::new(), Vec::new());
    while reader.read(&mut batch)? > 0 {
        records.append(&mut batch);
    }
    Ok(records)
}

fn get(time_ns: u64, key: u64) -> Record {
    Record { time_ns: Some(time_ns), ..Record::new(TraceOperation::Get, key) }
}

fn span(records: &[Record]) -> TraceSpan {
    TraceSpan::read(input(records).as_mut()).unwrap()
}

prop_compose! {
    fn any_request()(
        time_ns in 0_u64..5000, key in 0_u64..12, client in 0_u64..5, operation in 0_usize..4,
        failed in prop::option::of(any::<bool>()),
    ) -> Record {
        Record {
            client: Some(client),
            succeeded: failed.map(|failed| !failed),
            value_size: Some(key * 10),
            ..Record { operation: OPERATIONS[operation], ..get(time_ns, key) }
        }
    }
}

fn any_trace() -> impl Strategy<Value = Vec<Record>> {
    prop::collection::vec(any_request(), 1..120)
}

fn sorted_trace() -> impl Strategy<Value = Vec<Record>> {
    any_trace().prop_map(|mut records| {
        records.sort_by_key(|record| record.time_ns);
        records
    })
}

proptest! {
    #[test]
    fn scaling_by_two_halves_every_distance(records in any_trace()) {
        let scaled = all(&mut Scale::new(input(&records), 0.5).unwrap());
        let zero = records[0].time_ns.unwrap() as i64;
        let far = |record: &Record| (record.time_ns.unwrap() as i64 - zero) * 2 + zero;
        if records.iter().any(|record| far(record) < 0) {
            prop_assert!(scaled.is_err());
        } else {
            let scaled = scaled.unwrap();
            let expected: Vec<Record> =
                records.iter().map(|record| Record { time_ns: Some(far(record) as u64), ..*record }).collect();
            prop_assert_eq!(&scaled, &expected);
            // And the inverse.
            prop_assert_eq!(all(&mut Scale::new(input(&scaled), 2.0).unwrap()).unwrap(), records);
        }
    }

    #[test]
    fn each_copy_is_the_trace_on_keys_of_its_own(records in any_trace(), copies in 1_u32..5) {
        let cloned = all(&mut Copies::new(input(&records), copies).unwrap()).unwrap();
        prop_assert_eq!(cloned.len(), records.len() * copies as usize);
        let mut seen: HashSet<u64> = HashSet::new();
        for copy in 0..copies as usize {
            let mine: Vec<Record> = cloned.iter().skip(copy).step_by(copies as usize).copied().collect();
            let mut names: BTreeMap<u64, u64> = BTreeMap::new();
            for (record, original) in mine.iter().zip(&records) {
                prop_assert_eq!(*names.entry(original.key).or_insert(record.key), record.key);
                let (key, client) = (original.key, original.client);
                prop_assert_eq!(Record { key, client, ..*record }, *original);
            }
            let keys: BTreeSet<u64> = names.values().copied().collect();
            prop_assert_eq!(keys.len(), names.len());
            prop_assert!(keys.iter().all(|key| seen.insert(*key)));
        }
    }

    #[test]
    fn sub_traces_together_are_the_whole(records in any_trace(), parts in 1_u32..6, by_time in any::<bool>()) {
        let division = if by_time { Division::Time(span(&records)) } else { Division::Clients };
        let of = |chosen: String| {
            all(&mut Subtrace::new(input(&records), chosen.parse().unwrap(), division).unwrap()).unwrap()
        };
        prop_assert_eq!(&of(format!("1-{parts}/{parts}")), &records);
        let pieces: Vec<Vec<Record>> = (1..=parts).map(|part| of(format!("{part}/{parts}"))).collect();
        prop_assert_eq!(pieces.iter().map(Vec::len).sum::<usize>(), records.len());
        for piece in &pieces {
            // Each is in the trace's order.
            let mut rest = records.iter();
            prop_assert!(piece.iter().all(|record| rest.any(|other| other == record)));
        }
        if !by_time {
            let clients = pieces.iter().map(|piece| piece.iter().map(|record| record.client).collect::<BTreeSet<_>>());
            let different = records.iter().map(|record| record.client).collect::<BTreeSet<_>>();
            prop_assert_eq!(clients.map(|clients| clients.len()).sum::<usize>(), different.len());
        }
    }

    #[test]
    fn intensified_parts_begin_together(records in any_trace(), parts in 1_u32..6) {
        let whole = span(&records);
        let heavy = all(&mut intensify(|| Ok(input(&records)), whole, parts).unwrap()).unwrap();
        // Part by part, as the definition says.
        let length = u128::from(whole.last_ns - whole.first_ns) + 1;
        let part_of = |time: u64| (u128::from(time - whole.first_ns) * u128::from(parts) / length) as u64;
        let begin = |part: u64| (length * u128::from(part)).div_ceil(u128::from(parts)) as u64 + whole.first_ns;
        let mut expected: Vec<(u64, TraceOperation, Option<u64>)> = records.iter().map(|record| {
            let time = record.time_ns.unwrap();
            (time - begin(part_of(time)), record.operation, record.value_size)
        }).collect();
        let mut found: Vec<_> =
            heavy.iter().map(|record| (record.time_ns.unwrap(), record.operation, record.value_size)).collect();
        let in_order = records.is_sorted_by_key(|record| record.time_ns);
        prop_assert!(!in_order || found.is_sorted_by_key(|record| record.0));
        expected.sort();
        found.sort();
        prop_assert_eq!(found, expected);
        // Keys are equal only within a part.
        let keys = |part: u64| {
            let within = records.iter().filter(move |record| part_of(record.time_ns.unwrap()) == part);
            within.map(|record| record.key).collect::<BTreeSet<_>>()
        };
        let names: BTreeSet<u64> = heavy.iter().map(|record| record.key).collect();
        prop_assert_eq!(names.len(), (0..u64::from(parts)).map(|part| keys(part).len()).sum::<usize>());
    }

    #[test]
    fn merging_sorts_by_time_and_trace(traces in prop::collection::vec(sorted_trace(), 1..5)) {
        let merged = all(&mut Merge::new(traces.iter().map(|trace| input(trace)).collect())).unwrap();
        let mut expected = traces.concat();
        expected.sort_by_key(|record| record.time_ns);
        prop_assert_eq!(merged, expected);
    }

    #[test]
    fn what_is_missing_is_inserted_before_its_first_use(records in sorted_trace(), before in 0_u64..300) {
        let mut known = HashSet::new();
        let mut missing = Vec::new();
        for record in records.iter().filter(|record| record.succeeded != Some(false)) {
            if known.insert(record.key) && record.operation != TraceOperation::Insert {
                missing.push(Record { operation: TraceOperation::Insert, succeeded: None, ..*record });
            }
        }
        let bare = |record: &Record| Record { time_ns: None, client: None, ..*record };
        let inserts = || MissingInserts::read(input(&records)).unwrap();
        prop_assert_eq!(inserts().len(), missing.len());
        prop_assert_eq!(
            all(inserts().to_load().as_mut()).unwrap(), missing.iter().map(bare).collect::<Vec<_>>()
        );
        let early = |record: &Record| {
            Record { time_ns: record.time_ns.map(|time| time.saturating_sub(before)), ..*record }
        };
        let mut expected: Vec<Record> = missing.iter().map(early).chain(records.iter().copied()).collect();
        expected.sort_by_key(|record| record.time_ns);
        prop_assert_eq!(all(&mut inserts().into_trace(input(&records), before).unwrap()).unwrap(), expected);
    }

    #[test]
    fn a_sample_has_all_requests_of_its_keys(records in any_trace(), rate in 0.01_f64..1.0) {
        let filter = SpatialFilter::of_rate(rate).unwrap();
        let expected: Vec<Record> = records.iter().filter(|record| filter.keeps(record.key)).copied().collect();
        prop_assert_eq!(all(&mut SampledTrace::new(input(&records), filter)).unwrap(), expected);
    }

    #[test]
    fn a_slice_is_a_stretch(
        records in sorted_trace(), from_ns in 0_u64..6000, length_ns in prop::option::of(0_u64..3000),
        requests in prop::option::of(0_u64..50),
    ) {
        let zero = records[0].time_ns.unwrap() + from_ns;
        let inside = |time: u64| time >= zero && length_ns.is_none_or(|length| time < zero + length);
        let expected: Vec<Record> = records.iter().filter(|record| inside(record.time_ns.unwrap())).copied()
            .take(requests.unwrap_or(u64::MAX) as usize).collect();
        let stretch = SliceRange { from_ns, length_ns, requests };
        prop_assert_eq!(all(&mut Slice::new(input(&records), stretch)).unwrap(), expected);
    }

    #[test]
    fn names_are_hidden_one_by_one(records in any_trace(), secret in any::<[u8; 16]>()) {
        let hidden = all(&mut Anonymise::new(input(&records), Secret::new(secret))).unwrap();
        let mut names: BTreeMap<u64, u64> = BTreeMap::new();
        for (record, original) in hidden.iter().zip(&records) {
            prop_assert_eq!(*names.entry(original.key).or_insert(record.key), record.key);
            prop_assert_eq!(Record { key: 0, client: None, ..*record }, Record { key: 0, client: None, ..*original });
            prop_assert!(record.client != original.client);
        }
        prop_assert_eq!(names.values().collect::<BTreeSet<_>>().len(), names.len());
        let again = all(&mut Anonymise::new(input(&records), Secret::new(secret))).unwrap();
        prop_assert_eq!(hidden, again);
    }
}

#[test]
fn a_slice_ends_at_the_first_request_that_is_too_late() {
    let records = [get(100, 1), get(300, 2), get(200, 3), get(500, 4), get(250, 5)];
    let stretch = SliceRange { from_ns: 150, length_ns: Some(200), requests: None };
    let keys =
        |stretch| all(&mut Slice::new(input(&records), stretch)).unwrap().iter().map(|r| r.key).collect::<Vec<_>>();
    assert_eq!(keys(stretch), [2, 3]);
    assert_eq!(keys(SliceRange { requests: Some(4), ..SliceRange::default() }), [1, 2, 3, 4]);
}

#[test]
fn a_merged_trace_keeps_its_own_order_where_times_go_back() {
    let one = [get(5, 1), get(3, 2), get(9, 3)];
    let merged = all(&mut Merge::new(vec![input(&one), input(&[get(4, 4), get(5, 5)])])).unwrap();
    assert_eq!(merged.iter().map(|record| record.key).collect::<Vec<_>>(), [4, 1, 2, 5, 3]);
}

#[test]
fn times_that_are_needed_are_required() {
    let none = [Record::new(TraceOperation::Get, 1), Record::new(TraceOperation::Get, 2)];
    let error = |outcome: Result<Vec<Record>, TraceError>| match outcome {
        Err(TraceError::Wrong(text)) => text,
        other => panic!("{other:?}"),
    };
    assert!(error(all(&mut Scale::new(input(&none), 2.0).unwrap())).contains("no times"));
    assert!(error(all(&mut Merge::new(vec![input(&[get(1, 1)]), input(&none)]))).contains("trace 2"));
    let stretch = SliceRange { from_ns: 1, ..SliceRange::default() };
    assert!(error(all(&mut Slice::new(input(&none), stretch))).contains("number of requests"));
    assert!(intensify(|| Ok(input(&none)), span(&none), 2).is_err());
    assert!(Subtrace::new(input(&none), "1/2".parse().unwrap(), Division::Time(span(&none))).is_err());
    let by_client = Subtrace::new(input(&none), "1/2".parse().unwrap(), Division::Clients).unwrap();
    assert!(error(all(&mut { by_client })).contains("by time"));
    let inserts = || MissingInserts::read(input(&none)).unwrap();
    assert!(inserts().into_trace(input(&none), 1).is_err());
    assert_eq!(all(inserts().to_load().as_mut()).unwrap().len(), 2);
    // Transforms that need no times accept a trace without them.
    assert_eq!(all(&mut Copies::new(input(&none), 2).unwrap()).unwrap().len(), 4);
    let stretch = SliceRange { requests: Some(1), ..SliceRange::default() };
    assert_eq!(all(&mut Slice::new(input(&none), stretch)).unwrap(), none[..1]);
}

#[test]
fn equal_times_and_empty_traces_are_traces_too() {
    let records: Vec<Record> = (0..10).map(|key| get(5, key)).collect();
    assert_eq!(all(&mut intensify(|| Ok(input(&records)), span(&records), 4).unwrap()).unwrap().len(), 10);
    assert_eq!(all(&mut Scale::new(input(&records), 7.0).unwrap()).unwrap(), records);
    assert!(all(&mut Scale::new(input(&[]), 2.0).unwrap()).unwrap().is_empty());
    assert!(all(&mut Merge::new(vec![input(&[]), input(&[])])).unwrap().is_empty());
    assert!(intensify(|| Ok(input(&[])), span(&[]), 2).is_err());
    assert!(MissingInserts::read(input(&[])).unwrap().is_empty());
}

#[test]
fn the_largest_keys_and_times_are_no_overflow() {
    let records: Vec<Record> = [0, 1, u64::MAX - 1, u64::MAX]
        .into_iter()
        .map(|number| Record { client: Some(number), ..get(number, number) })
        .collect();
    let keys = |records: Vec<Record>| records.iter().map(|record| record.key).collect::<BTreeSet<_>>().len();
    assert_eq!(keys(all(&mut Copies::new(input(&records), 1000).unwrap()).unwrap()), 4000);
    let heavy = all(&mut intensify(|| Ok(input(&records)), span(&records), 2).unwrap()).unwrap();
    assert_eq!(
        heavy.iter().map(|record| record.time_ns.unwrap()).collect::<Vec<_>>(),
        [0, 1, (1 << 63) - 2, (1 << 63) - 1]
    );
    assert!(all(&mut Scale::new(input(&records), 0.5).unwrap()).is_err());
    assert_eq!(all(&mut Scale::new(input(&records), 1e9).unwrap()).unwrap().len(), 4);
}

#[test]
fn damage_is_reported_after_everything_else() {
    let cut = |records: &[Record]| -> Input { Box::new(Listed { records: records.to_vec(), piece: 1, damaged: true }) };
    let mut merged = Merge::new(vec![cut(&[get(1, 1)]), input(&[get(2, 2), get(3, 3)])]);
    let (mut batch, mut read) = (Vec::new(), 0);
    let error = loop {
        match merged.read(&mut batch) {
            Ok(count) => read += count,
            Err(error) => break error,
        }
    };
    assert!(read == 3 && matches!(error, TraceError::Damaged { offset: 7, .. }));
    assert_eq!(merged.read(&mut batch).unwrap(), 0);
    assert_eq!(TraceSpan::read(cut(&[get(1, 1), get(4, 1)]).as_mut()).unwrap().last_ns, 4);
    let mut load = MissingInserts::read(cut(&[get(1, 1)])).unwrap().to_load();
    assert_eq!(load.read(&mut batch).unwrap(), 1);
    assert!(load.read(&mut batch).is_err());
}

#[test]
fn a_request_that_failed_proves_no_key() {
    let miss = Record { succeeded: Some(false), ..get(1, 1) };
    let block = Record::block(TraceOperation::Read, 0, 4096, 512, 512);
    let records = [miss, Record::new(TraceOperation::Put, 1), get(3, 1), block];
    assert!(MissingInserts::read(input(&records)).unwrap().is_empty());
    // A key that exists after a miss without an insert in between was inserted in between.
    assert_eq!(MissingInserts::read(input(&[miss, get(2, 1)])).unwrap().len(), 1);
}
