//! The first reading of a trace: its contents, what they lack, and the keys that it requires.

use std::hash::Hasher as _;

use manometer_trace::key::IdHash;
use manometer_trace::missing::MissingKeys;
use manometer_trace::{Record, TraceError, TraceOperation};

use super::request::key_bytes;
use super::schedule::DueTimes;
use super::settings::{ReplayModel, TraceFile, TraceShare};

/// How far times may go back, in nanoseconds: concurrent recording threads interleave by less.
pub(crate) const BACKWARD_NS_MAX: u64 = 1_000_000_000;

/// A hash that spreads ids evenly, also sequential ones.
#[inline]
pub(crate) fn hash_id(id: u64) -> u64 {
    let mut hash = IdHash::default();
    hash.write_u64(id);
    hash.finish()
}

/// The id whose order `model` preserves: that of the client or of the key. A model without order partitions by key.
#[inline]
pub(crate) fn ordering_id(model: ReplayModel, record: &Record) -> u64 {
    match model {
        ReplayModel::ClosedPerClient => record.client.unwrap_or(0),
        _ => record.key,
    }
}

/// Whether `record` belongs to `share`.
#[inline]
pub(crate) fn is_in_share(share: Option<TraceShare>, model: ReplayModel, record: &Record) -> bool {
    share.is_none_or(|share| hash_id(ordering_id(model, record)) % u64::from(share.of) == u64::from(share.part))
}

/// A key that must exist before the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequiredKey {
    pub(crate) key: u64,
    pub(crate) key_bytes: u32,
    /// Bytes of its value, if the trace records them.
    pub(crate) value_bytes: Option<u64>,
}

/// The contents of a trace.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Requests of the whole trace, and of the share that is replayed.
    pub(crate) all_requests: u64,
    pub(crate) requests: u64,
    /// Of the whole trace: requests without a time, times earlier than a time before them, and the largest such step.
    pub(crate) times_absent: u64,
    pub(crate) times_backward: u64,
    pub(crate) backward_ns: u64,
    /// The first request, counted from 1, whose time goes back too far, and by how much.
    pub(crate) turned_back: Option<(u64, u64)>,
    /// The span from the first time to the latest, and the resolution of the trace's clock.
    pub(crate) span_ns: u64,
    pub(crate) step_ns: u64,
    /// Of the share: requests by operation number.
    pub(crate) operations: [u64; TraceOperation::ALL.len()],
    /// Of the share: stores, and reads, whose value size is not recorded.
    pub(crate) stores_unsized: u64,
    pub(crate) reads_unsized: u64,
    /// Of the whole trace: the number of recorded sizes, their sum and the largest.
    pub(crate) sized: u64,
    pub(crate) size_sum: u128,
    pub(crate) size_max: u64,
    /// Of the whole trace: the longest key as it is written.
    pub(crate) key_bytes_max: u32,
    /// Requests without a client.
    pub(crate) clients_absent: u64,
    /// Block requests without an offset, and the end of the others in bytes.
    pub(crate) unplaced: u64,
    pub(crate) reach_bytes: u64,
    /// The largest block read or write, in bytes.
    pub(crate) moved_max: u64,
    /// The keys that the whole trace requires, if collected, in the order of their first use.
    pub(crate) required: Vec<RequiredKey>,
    /// The damage of the trace, if any.
    pub(crate) damage: Option<TraceError>,
}

/// Reads the trace `file` to its end, or to its last good record.
pub(crate) fn survey(
    file: &TraceFile,
    model: ReplayModel,
    share: Option<TraceShare>,
    with_required: bool,
) -> Result<Survey, TraceError> {
    let mut trace = manometer_trace::open(&file.trace, &file.options()?)?;
    let mut surveyor = Surveyor::new(model, share, with_required);
    let mut batch = Vec::new();
    loop {
        match trace.reader.read(&mut batch) {
            Ok(0) => break,
            Ok(_) => {
                batch.iter().for_each(|record| surveyor.check(record));
                surveyor.keys.as_ref().map_or(Ok(()), MissingKeys::need_room)?;
            }
            Err(damage) => {
                surveyor.survey.damage = Some(damage);
                break;
            }
        }
    }
    Ok(surveyor.done())
}

/// Accumulates the survey record by record.
struct Surveyor {
    survey: Survey,
    model: ReplayModel,
    share: Option<TraceShare>,
    times: DueTimes,
    keys: Option<MissingKeys>,
}

impl Surveyor {
    fn new(model: ReplayModel, share: Option<TraceShare>, with_required: bool) -> Self {
        Self {
            survey: Survey::default(),
            model,
            share,
            times: DueTimes::new(1.0),
            keys: with_required.then(MissingKeys::default),
        }
    }

    fn check(&mut self, record: &Record) {
        let survey = &mut self.survey;
        survey.all_requests += 1;
        match record.time_ns {
            None => survey.times_absent += 1,
            Some(time_ns) => {
                survey.step_ns = common_step(survey.step_ns, time_ns);
                let back_ns = self.times.behind_ns(time_ns);
                survey.times_backward += u64::from(back_ns > 0);
                survey.backward_ns = survey.backward_ns.max(back_ns);
                if back_ns > BACKWARD_NS_MAX && survey.turned_back.is_none() {
                    survey.turned_back = Some((survey.all_requests, back_ns));
                }
            }
        }
        survey.span_ns = self.times.due_ns(record.time_ns);
        self.add_key(record);
        if is_in_share(self.share, self.model, record) {
            self.add_request(record);
        }
    }

    fn add_request(&mut self, record: &Record) {
        let survey = &mut self.survey;
        survey.requests += 1;
        survey.operations[record.operation as usize] += 1;
        survey.clients_absent += u64::from(record.client.is_none());
        match record.offset {
            Some(offset) => {
                let bytes = record.value_size.unwrap_or(0);
                survey.reach_bytes = survey.reach_bytes.max(offset.saturating_add(bytes));
                if record.operation != TraceOperation::Discard {
                    survey.moved_max = survey.moved_max.max(bytes);
                }
            }
            None => survey.unplaced += u64::from(record.operation.is_block()),
        }
        if record.value_size.is_none() {
            survey.stores_unsized += u64::from(record.operation.stores());
            survey.reads_unsized += u64::from(is_read(record.operation));
        }
    }

    /// Counts keys and sizes of the whole trace: one process loads for all shares.
    fn add_key(&mut self, record: &Record) {
        self.survey.key_bytes_max = self.survey.key_bytes_max.max(key_bytes(record));
        if let Some(bytes) = record.value_size {
            self.survey.sized += 1;
            self.survey.size_sum += u128::from(bytes);
            self.survey.size_max = self.survey.size_max.max(bytes);
        }
        if let Some(keys) = &mut self.keys {
            keys.add(record);
        }
    }

    fn done(self) -> Survey {
        let inserts = self.keys.map(MissingKeys::into_inserts).unwrap_or_default().into_iter();
        let required = |insert: Record| RequiredKey {
            key: insert.key,
            key_bytes: key_bytes(&insert),
            value_bytes: insert.value_size,
        };
        Survey { required: inserts.map(required).collect(), step_ns: self.survey.step_ns.max(1), ..self.survey }
    }
}

/// Whether the operation reads a value.
pub(crate) fn is_read(operation: TraceOperation) -> bool {
    matches!(operation, TraceOperation::Get | TraceOperation::Read)
}

/// The largest power of ten, up to a minute, that divides both `step_ns`, 0 at first, and `time_ns`.
#[inline]
fn common_step(step_ns: u64, time_ns: u64) -> u64 {
    const COARSEST_NS: u64 = 60_000_000_000;
    let mut step_ns = if step_ns == 0 { COARSEST_NS } else { step_ns };
    while !time_ns.is_multiple_of(step_ns) {
        step_ns = if step_ns == COARSEST_NS { 1_000_000_000 } else { step_ns / 10 };
    }
    step_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cached_survey(text: &str, with_required: bool) -> Survey {
        let dir = tempfile::tempdir().unwrap();
        let file = TraceFile { trace: dir.path().join("trace"), ..TraceFile::default() };
        std::fs::write(&file.trace, text).unwrap();
        survey(&file, ReplayModel::Open, None, with_required).unwrap()
    }

    #[test]
    fn steps_are_those_of_the_traces_clock() {
        let step = |times: &[u64]| times.iter().fold(0, |step, time| common_step(step, *time));
        assert_eq!(step(&[0, 5_000_000_000]), 1_000_000_000);
        assert_eq!(step(&[1_500_000, 2_000_000]), 100_000);
        assert_eq!(step(&[7]), 1);
        assert_eq!(step(&[0, 120_000_000_000]), 60_000_000_000);
    }

    #[test]
    fn times_and_sizes_that_lack_are_counted() {
        let found = cached_survey("read,a,1000,5\nread,b,,\ninsert,c,900,\nupdate,d,2000,7\n", false);
        assert_eq!((found.requests, found.times_absent, found.times_backward), (4, 1, 1));
        assert_eq!((found.backward_ns, found.span_ns, found.turned_back), (100_000_000, 1_000_000_000, None));
        assert_eq!((found.stores_unsized, found.reads_unsized, found.size_max, found.size_sum), (1, 1, 7, 12));
        let found = cached_survey("read,a,5000,\nread,b,1000,\n", false);
        assert_eq!(found.turned_back, Some((2, 4_000_000_000)));
    }

    #[test]
    fn what_is_asked_for_before_it_is_inserted_is_needed_with_its_size() {
        let found = cached_survey("read,1,0,\ninsert,2,1,9\nread,2,2,\nupdate,1,3,8\ndelete,3,4,\n", true);
        let required = |key, value_bytes| RequiredKey { key, key_bytes: 11, value_bytes };
        assert_eq!(found.required, [required(1, Some(8)), required(3, None)]);
        assert!(cached_survey("read,1,0,\n", false).required.is_empty());
    }

    #[test]
    fn what_is_needed_is_needed_for_every_share() {
        let dir = tempfile::tempdir().unwrap();
        let file = TraceFile { trace: dir.path().join("trace"), ..TraceFile::default() };
        std::fs::write(&file.trace, (0..90).map(|key| format!("read,{key},1,{key}\n")).collect::<String>()).unwrap();
        let found = survey(&file, ReplayModel::Open, Some(TraceShare { part: 0, of: 3 }), true).unwrap();
        assert!(found.requests < 90 && found.all_requests == 90);
        assert_eq!((found.required.len(), found.size_max), (90, 89));
    }

    #[test]
    fn shares_make_the_whole_and_keep_owners_together() {
        for model in ReplayModel::ALL {
            for number in 0..100 {
                let record = Record { client: Some(number % 7), ..Record::new(TraceOperation::Get, number) };
                let parts = (0..4).filter(|part| is_in_share(Some(TraceShare { part: *part, of: 4 }), model, &record));
                assert_eq!(parts.count(), 1);
            }
        }
        let one = |key| Record { client: Some(5), ..Record::new(TraceOperation::Get, key) };
        let share = |record: &Record| hash_id(ordering_id(ReplayModel::ClosedPerClient, record));
        assert_eq!(share(&one(1)), share(&one(2)));
    }
}
