use std::collections::BTreeMap;

use manometer_measure::ManualClock;
use manometer_target::engine::value::ValueError;
use manometer_target::engine::{EngineError, ScanVisitor};

use super::*;
use crate::kv::KvSettings;

/// A session that keeps what is put, and loses or swaps values on request.
#[derive(Default)]
struct Map {
    records: BTreeMap<Vec<u8>, Vec<u8>>,
    puts: u64,
}

impl EngineSession for &mut Map {
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        Ok(self.records.get(key).map(Vec::as_slice))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        self.puts += 1;
        self.records.insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), EngineError> {
        self.records.remove(key);
        Ok(())
    }

    fn scan(
        &mut self,
        start: Option<&[u8]>,
        direction: ScanDirection,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<(), EngineError> {
        let start = start.unwrap_or_default();
        let mut forward = self.records.range(start.to_vec()..);
        let mut backward = self.records.range(..=start.to_vec()).rev();
        let records: &mut dyn Iterator<Item = _> = match direction {
            ScanDirection::Forward => &mut forward,
            ScanDirection::Backward => &mut backward,
        };
        for (key, value) in records {
            if visit(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn plan(pairs: &[(&str, &str)]) -> KvPlan {
    let properties = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let settings =
        KvSettings { engine: "null".to_owned(), workload: "ycsb-a".to_owned(), properties, ..Default::default() };
    KvPlan::new(&KvSettings { records: Some(20), ..settings }).unwrap()
}

fn loaded(plan: &KvPlan) -> Map {
    let mut random = stream(0, 0);
    let mut values = ValueGenerator::new(&plan.spec.values, &mut random);
    let mut key = KeyBuffer::new(plan.spec.keys);
    let mut map = Map::default();
    for record in plan.spec.first..plan.spec.first + plan.spec.loaded {
        let key = key.of_record(record);
        map.records.insert(key.to_vec(), values.make(key, &mut random).to_vec());
    }
    map
}

/// Has one client do `operations` operations on `map`; returns how often each of `kinds` was done.
fn send_one<const N: usize>(
    plan: &KvPlan,
    map: &mut Map,
    operations: u64,
    kinds: [KvOperation; N],
) -> Result<[u64; N], KvError> {
    let (clock, gate, counters) = (ManualClock::at(0), Gate::default(), ThreadCounters::default());
    let population = Population::new(plan.spec.record_range());
    let (plans, arrivals) = (PlanHistory::new(plan.clone()), Arrivals::default());
    let context = ClientContext {
        plan,
        plans: &plans,
        seed: 5,
        clock: &clock,
        gate: &gate,
        population: &population,
        arrivals: &arrivals,
    };
    let mut client = Client::new(&context, 0, &counters, Box::new(map));
    for _ in 0..operations {
        client.send_one(DueTime::Now)?;
    }
    Ok(kinds.map(|operation| {
        let mut histogram = manometer_measure::LatencyHistogram::new();
        if let Some(cells) = counters.service(operation) {
            cells.read_since(&mut super::super::latency_cells::CellSnapshot::default(), &mut histogram);
        }
        histogram.len()
    }))
}

#[test]
fn operations_come_in_their_proportions() {
    let plan = plan(&[("readproportion", "0.5"), ("updateproportion", "0.3"), ("readmodifywriteproportion", "0.2")]);
    let mut map = loaded(&plan);
    let counts =
        send_one(&plan, &mut map, 10_000, [KvOperation::Read, KvOperation::Update, KvOperation::ReadModifyWrite])
            .unwrap();
    for (count, share) in counts.into_iter().zip([0.5, 0.3, 0.2]) {
        // Six standard deviations of a binomial count of this many draws.
        assert!((count as f64 - share * 10_000.0).abs() < 300.0, "{counts:?}");
    }
    assert_eq!(map.puts, counts[1] + counts[2]);
}

#[test]
fn a_pure_reader_never_writes() {
    let plan = plan(&[("readproportion", "1"), ("updateproportion", "0")]);
    let mut map = loaded(&plan);
    assert_eq!(send_one(&plan, &mut map, 5000, [KvOperation::Read]).unwrap(), [5000]);
    assert_eq!(map.puts, 0);
}

#[test]
fn updates_of_one_field_leave_the_others_and_stay_valid() {
    let plan = plan(&[("readproportion", "0.5"), ("updateproportion", "0.5"), ("writeallfields", "false")]);
    let mut map = loaded(&plan);
    let before = map.records.clone();
    send_one(&plan, &mut map, 60, []).unwrap();
    let puts = usize::try_from(map.puts).unwrap();
    assert!(puts > 0);
    let length = plan.value_bytes() / plan.spec.fields as usize;
    for (key, value) in &map.records {
        value::verify(key, value).unwrap();
        // The first field holds the header, whose check changes with the last bytes of the value.
        let fields = before[key].chunks(length).zip(value.chunks(length)).skip(1);
        let changed = fields.filter(|(before, after)| before != after).count();
        assert!(changed <= puts, "{changed} fields of one record after {puts} updates");
    }
    let touched = map.records.iter().filter(|(key, value)| before[*key] != **value).count();
    assert!((1..=puts).contains(&touched), "{touched} records after {puts} updates");
}

#[test]
fn inserted_records_are_read_and_no_others() {
    let part = [("insertstart", "5"), ("insertcount", "10")];
    for popularity in ["uniform", "zipfian", "ycsb-zipfian", "latest", "hotspot", "exponential", "sequential"] {
        for part in [&part[..], &[]] {
            let mut pairs = vec![
                ("readproportion", "0.5"),
                ("updateproportion", "0"),
                ("insertproportion", "0.3"),
                ("scanproportion", "0.2"),
                ("maxscanlength", "7"),
                ("operationcount", "2000"),
                ("requestdistribution", popularity),
            ];
            pairs.extend(part);
            let plan = plan(&pairs);
            let mut map = loaded(&plan);
            assert_eq!(map.records.len() as u64, plan.spec.loaded);
            let kinds = [KvOperation::Read, KvOperation::Insert, KvOperation::Scan];
            let [reads, inserts, scans] = send_one(&plan, &mut map, 2000, kinds).unwrap();
            assert!(reads > 0 && scans > 0 && reads + inserts + scans == 2000, "{popularity}");
            assert_eq!(map.records.len() as u64, plan.spec.loaded + inserts, "{popularity}");
            assert!(map.records.contains_key(KeyBuffer::new(plan.spec.keys).of_record(20)), "the first one inserted");
        }
    }
}

#[test]
fn values_have_the_requested_lengths() {
    let plan = plan(&[("fieldlengthdistribution", "uniform"), ("minfieldlength", "3"), ("fieldlength", "9")]);
    let mut map = loaded(&plan);
    send_one(&plan, &mut map, 1000, []).unwrap();
    let lengths: std::collections::BTreeSet<usize> = map.records.values().map(Vec::len).collect();
    assert!(lengths.len() > 3 && lengths.iter().all(|length| (30..=90).contains(length)), "{lengths:?}");
}

#[test]
fn a_lost_record_ends_the_run_by_name() {
    let plan = plan(&[]);
    let error = send_one(&plan, &mut Map::default(), 1000, []).map(|_| ());
    assert!(matches!(error, Err(KvError::Lost { .. })), "{error:?}");
}

#[test]
fn a_swapped_value_ends_the_run_by_name() {
    let plan = plan(&[("readproportion", "1"), ("updateproportion", "0")]);
    let mut map = loaded(&plan);
    let other = map.records[b"user6284781860667377211".as_slice()].clone();
    map.records.values_mut().for_each(|value| value.clone_from(&other));
    let error = send_one(&plan, &mut map, 1000, []).unwrap_err();
    assert!(matches!(error, KvError::Wrong { fault: ValueError::OtherKey, .. }), "{error}");
}

#[test]
fn requests_sent_together_are_all_answered_and_counted() {
    let mut plan = plan(&[("readproportion", "0.5"), ("updateproportion", "0.5")]);
    plan.pipeline = 7;
    let mut map = loaded(&plan);
    let (clock, gate, counters) = (ManualClock::at(0), Gate::default(), ThreadCounters::default());
    let population = Population::new(plan.spec.record_range());
    let (plans, arrivals) = (PlanHistory::new(plan.clone()), Arrivals::default());
    let context = ClientContext {
        plan: &plan,
        plans: &plans,
        seed: 5,
        clock: &clock,
        gate: &gate,
        population: &population,
        arrivals: &arrivals,
    };
    let mut client = Client::new(&context, 0, &counters, Box::new(&mut map));
    client.left = 100;
    gate.open();
    client.run().unwrap();
    drop(client);
    let counts = [KvOperation::Read, KvOperation::Update].map(|operation| {
        let mut histogram = manometer_measure::LatencyHistogram::new();
        let cells = counters.service(operation).unwrap();
        cells.read_since(&mut super::super::latency_cells::CellSnapshot::default(), &mut histogram);
        histogram.len()
    });
    assert_eq!(counts.iter().sum::<u64>(), 100);
    assert_eq!(counts[1], map.puts);
    map.records.iter().for_each(|(key, value)| value::verify(key, value).unwrap());
}

#[test]
fn a_record_lost_among_requests_sent_together_ends_the_run() {
    let mut plan = plan(&[]);
    plan.pipeline = 4;
    let (clock, gate, counters) = (ManualClock::at(0), Gate::default(), ThreadCounters::default());
    let population = Population::new(plan.spec.record_range());
    let (plans, arrivals) = (PlanHistory::new(plan.clone()), Arrivals::default());
    let context = ClientContext {
        plan: &plan,
        plans: &plans,
        seed: 5,
        clock: &clock,
        gate: &gate,
        population: &population,
        arrivals: &arrivals,
    };
    let mut map = Map::default();
    gate.open();
    let error = Client::new(&context, 0, &counters, Box::new(&mut map)).run().unwrap_err();
    assert!(matches!(error, KvError::Lost { .. }), "{error}");
}

/// A session that stops the gate after a number of answers.
struct Last<'a> {
    map: &'a mut Map,
    gate: &'a Gate,
    left: u32,
}

impl Last<'_> {
    fn answered(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.gate.stop();
        }
    }
}

impl EngineSession for Last<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        self.answered();
        Ok(self.map.records.get(key).map(Vec::as_slice))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        self.answered();
        self.map.puts += 1;
        self.map.records.insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn delete(&mut self, _: &[u8]) -> Result<(), EngineError> {
        unreachable!("this workload deletes nothing")
    }

    fn scan(&mut self, _: Option<&[u8]>, _: ScanDirection, _: &mut ScanVisitor<'_>) -> Result<(), EngineError> {
        unreachable!("this workload scans nothing")
    }
}

#[test]
fn requests_chosen_ahead_end_with_the_gate_and_none_is_counted_that_was_not_sent() {
    let plan = plan(&[("readproportion", "0.5"), ("updateproportion", "0.5"), ("writeallfields", "true")]);
    for sent in [1, 5, 16, 17, 40] {
        let mut map = loaded(&plan);
        let (clock, gate, counters) = (ManualClock::at(0), Gate::default(), ThreadCounters::default());
        let population = Population::new(plan.spec.record_range());
        let (plans, arrivals) = (PlanHistory::new(plan.clone()), Arrivals::default());
        let context = ClientContext {
            plan: &plan,
            plans: &plans,
            seed: 5,
            clock: &clock,
            gate: &gate,
            population: &population,
            arrivals: &arrivals,
        };
        gate.open();
        let session = Last { map: &mut map, gate: &gate, left: sent };
        let mut client = Client::new(&context, 0, &counters, Box::new(session));
        assert!(client.generator.ahead());
        client.left = 100;
        client.run().unwrap();
        assert_eq!(client.left, 100 - u64::from(sent));
        drop(client);
        let counts = [KvOperation::Read, KvOperation::Update].map(|operation| {
            let mut histogram = manometer_measure::LatencyHistogram::new();
            if let Some(cells) = counters.service(operation) {
                cells.read_since(&mut super::super::latency_cells::CellSnapshot::default(), &mut histogram);
            }
            histogram.len()
        });
        assert_eq!((counts[0] + counts[1], counts[1]), (u64::from(sent), map.puts));
    }
}

#[test]
fn only_requests_that_may_be_forgotten_are_chosen_ahead() {
    let ahead = |pairs: &[(&str, &str)]| {
        let plan = plan(pairs);
        let population = Population::new(plan.spec.record_range());
        generator(&plan, 5, 0, &population).ahead()
    };
    assert!(ahead(&[("readproportion", "1"), ("updateproportion", "0")]));
    assert!(!ahead(&[("readproportion", "0.9"), ("insertproportion", "0.1")]), "an insert has claimed its record");
    assert!(!ahead(&[("requestdistribution", "sequential")]), "a record would be left out");
}
