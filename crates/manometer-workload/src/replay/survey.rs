//! The first reading of a trace: its contents, what they lack, and the keys that it requires.

use std::collections::HashMap;
use std::hash::Hasher as _;
use std::sync::Arc;

use manometer_trace::key::{IdHash, IdHasher};
use manometer_trace::missing::MissingKeys;
use manometer_trace::{Record, RequestDetails, TraceError, TraceOperation, TraceReader};

use super::detail_counts::DetailCounts;
use super::request::{KeyForm, key_bytes, write_key};
use super::schedule::DueTimes;
use super::settings::{ReplayModel, TraceFile};
use super::spread::{STEPS_MAX, StepCounter};
use crate::interface::ClientShare;

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
pub(crate) fn is_in_share(share: Option<ClientShare>, model: ReplayModel, record: &Record) -> bool {
    share.is_none_or(|share| hash_id(ordering_id(model, record)) % u64::from(share.of) == u64::from(share.part))
}

/// The most memory of the keys to load as the trace has them, in bytes.
const TEXT_BYTES_MAX: usize = 4 << 30;
/// Bytes of such a key beyond its own: its slot in a table that has just grown, and its allocation.
const TEXT_ENTRY_BYTES: usize = 96;

/// What to find out about a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SurveyScope {
    /// The model, whose order divides shares.
    pub(crate) model: ReplayModel,
    /// The share of the trace that is replayed.
    pub(crate) share: Option<ClientShare>,
    /// Whether to collect the keys that the trace requires.
    pub(crate) with_required: bool,
    /// Whether to count the requests of each step of the clock.
    pub(crate) with_steps: bool,
}

impl SurveyScope {
    /// The whole trace, without its keys and steps.
    pub(crate) fn whole(model: ReplayModel) -> Self {
        Self { model, share: None, with_required: false, with_steps: false }
    }
}

/// A key that must exist before the first request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequiredKey {
    pub(crate) key: u64,
    pub(crate) key_bytes: u32,
    /// The key as it is written, unless as its id.
    pub(crate) text: Option<Box<[u8]>>,
    /// Bytes of its value, if the trace records them.
    pub(crate) value_bytes: Option<u64>,
    /// Whether its first request is a recorded command: it may be no string.
    pub(crate) by_command: bool,
}

impl RequiredKey {
    /// Overwrites `key` with the key.
    pub(crate) fn write(&self, key: &mut Vec<u8>) {
        match &self.text {
            Some(text) => {
                key.clear();
                key.extend_from_slice(text);
            }
            None => write_key(self.key, self.key_bytes, key),
        }
    }
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
    /// Of the share: stores of recorded commands, whose value size is not recorded.
    pub(crate) stores_unsized_by_command: u64,
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
    /// Of the share: what its requests record beyond operations and sizes.
    pub(crate) details: DetailCounts,
    /// Recorded requests that the reader does not hold.
    pub(crate) lost: u64,
    /// The requests of each step of the clock, if counted.
    pub(crate) steps: Option<Arc<[u32]>>,
    /// The damage of the trace, if any.
    pub(crate) damage: Option<TraceError>,
}

/// Reads the trace `file` to its end, or to its last good record.
pub(crate) fn survey(file: &TraceFile, scope: SurveyScope) -> Result<Survey, TraceError> {
    let mut trace = manometer_trace::open(&file.trace, &file.options()?)?;
    let mut surveyor = Surveyor::new(scope);
    let mut batch = Vec::new();
    loop {
        match trace.reader.read(&mut batch) {
            Ok(0) => break,
            Ok(_) => {
                surveyor.check_batch(&batch, &*trace.reader);
                surveyor.need_room()?;
            }
            Err(damage) => {
                surveyor.survey.damage = Some(damage);
                break;
            }
        }
    }
    surveyor.survey.lost = trace.reader.lost();
    Ok(surveyor.done())
}

/// The command to which a request belongs.
#[derive(Debug, Clone, Copy, Default)]
struct CommandMembership {
    /// Whether it is of the replayed share.
    in_share: bool,
    /// Whether the trace has the command itself, and for the first database, so that it can be sent.
    by_command: bool,
    /// Whether the trace has the command itself for another database.
    on_other_database: bool,
    /// Whether it reads several keys.
    in_multi_get: bool,
}

/// A key to load as the trace has it, if it does, and whether its first request is a recorded command.
type RequiredText = (Option<Box<[u8]>>, bool);

/// Accumulates the survey record by record.
struct Surveyor {
    survey: Survey,
    scope: SurveyScope,
    times: DueTimes,
    keys: Option<MissingKeys>,
    /// The keys to load that are not written as their ids, or whose first request is a command, and their bytes.
    texts: HashMap<u64, RequiredText, IdHasher>,
    text_bytes: usize,
    steps: Option<StepCounter>,
    command: CommandMembership,
}

impl Surveyor {
    fn new(scope: SurveyScope) -> Self {
        Self {
            survey: Survey::default(),
            scope,
            times: DueTimes::new(1.0),
            keys: scope.with_required.then(MissingKeys::default),
            texts: HashMap::default(),
            text_bytes: 0,
            steps: scope.with_steps.then(StepCounter::default),
            command: CommandMembership::default(),
        }
    }

    /// Adds the records of `batch` with what `reader` keeps of them.
    fn check_batch(&mut self, batch: &[Record], reader: &dyn TraceReader) {
        let details = |at: usize| reader.details().map(|details| details.of(at)).unwrap_or_default();
        for (at, record) in batch.iter().enumerate() {
            let own = details(at);
            if !own.is_joined {
                let is_followed = at + 1 < batch.len() && details(at + 1).is_joined;
                self.command = CommandMembership {
                    in_share: is_in_share(self.scope.share, self.scope.model, record),
                    by_command: own.command.is_some() && record.device == 0,
                    on_other_database: own.command.is_some() && record.device != 0,
                    in_multi_get: is_followed && is_read(record.operation),
                };
                self.steps.iter_mut().for_each(|steps| steps.add(record.time_ns));
            }
            self.check(record, &own);
        }
    }

    /// Checks that there is room for the keys and steps of the next few requests.
    fn need_room(&self) -> Result<(), TraceError> {
        self.keys.as_ref().map_or(Ok(()), MissingKeys::need_room)?;
        if self.text_bytes > TEXT_BYTES_MAX {
            return Err(TraceError::Wrong(format!(
                "the keys to load take more than {} MiB of memory; sample or slice the trace before",
                TEXT_BYTES_MAX >> 20
            )));
        }
        if self.steps.as_ref().is_some_and(|steps| steps.len() > STEPS_MAX) {
            return Err(TraceError::Wrong(format!(
                "it has more than {STEPS_MAX} different times, too many to spread requests between them: slice the trace, or \
                 leave `spread` out"
            )));
        }
        Ok(())
    }

    fn check(&mut self, record: &Record, details: &RequestDetails<'_>) {
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
        self.add_key(record, details);
        if self.command.in_share {
            let CommandMembership { by_command, on_other_database, in_multi_get, .. } = self.command;
            self.survey.details.add(record, details, by_command, in_multi_get);
            self.survey.details.commands_elsewhere += u64::from(on_other_database);
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
            survey.stores_unsized += u64::from(record.operation.stores() && !self.command.by_command);
            survey.stores_unsized_by_command += u64::from(record.operation.stores() && self.command.by_command);
            survey.reads_unsized += u64::from(is_read(record.operation));
        }
    }

    /// Counts keys and sizes of the whole trace: one process loads for all shares.
    fn add_key(&mut self, record: &Record, details: &RequestDetails<'_>) {
        let form = KeyForm::of(record, details);
        self.survey.key_bytes_max = self.survey.key_bytes_max.max(form.len());
        if let Some(bytes) = record.value_size {
            self.survey.sized += 1;
            self.survey.size_sum += u128::from(bytes);
            self.survey.size_max = self.survey.size_max.max(bytes);
        }
        let Some(keys) = &mut self.keys else { return };
        let is_required = keys.add(record);
        if is_required && (!matches!(form, KeyForm::Id(..)) || self.command.by_command) {
            let text = (!matches!(form, KeyForm::Id(..))).then(|| {
                let mut text = Vec::with_capacity(form.len() as usize);
                form.write(&mut text);
                text.into_boxed_slice()
            });
            self.text_bytes += TEXT_ENTRY_BYTES + form.len() as usize;
            self.texts.insert(record.key, (text, self.command.by_command));
        }
    }

    fn done(mut self) -> Survey {
        let inserts = self.keys.take().map(MissingKeys::into_inserts).unwrap_or_default().into_iter();
        let required = |insert: Record| {
            let (text, by_command) = self.texts.remove(&insert.key).unwrap_or_default();
            let key_bytes = text.as_ref().map_or_else(|| key_bytes(&insert), |text| text.len() as u32);
            RequiredKey { key: insert.key, key_bytes, text, value_bytes: insert.value_size, by_command }
        };
        let required = inserts.map(required).collect();
        let steps = self.steps.map(|steps| steps.into_counts().into());
        Survey { required, steps, step_ns: self.survey.step_ns.max(1), ..self.survey }
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
        survey(&file, SurveyScope { with_required, ..SurveyScope::whole(ReplayModel::Open) }).unwrap()
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
        let required = |key: u64, value_bytes| {
            let text = key.to_string().into_bytes().into_boxed_slice();
            RequiredKey { key, key_bytes: 1, text: Some(text), value_bytes, by_command: false }
        };
        assert_eq!(found.required, [required(1, Some(8)), required(3, None)]);
        assert!(cached_survey("read,1,0,\n", false).required.is_empty());
    }

    #[test]
    fn what_is_needed_is_needed_for_every_share() {
        let dir = tempfile::tempdir().unwrap();
        let file = TraceFile { trace: dir.path().join("trace"), ..TraceFile::default() };
        std::fs::write(&file.trace, (0..90).map(|key| format!("read,{key},1,{key}\n")).collect::<String>()).unwrap();
        let scope = SurveyScope { with_required: true, ..SurveyScope::whole(ReplayModel::Open) };
        let found = survey(&file, SurveyScope { share: Some(ClientShare { part: 0, of: 3 }), ..scope }).unwrap();
        assert!(found.requests < 90 && found.all_requests == 90);
        assert_eq!((found.required.len(), found.size_max), (90, 89));
    }

    #[test]
    fn shares_make_the_whole_and_keep_owners_together() {
        for model in ReplayModel::ALL {
            for number in 0..100 {
                let record = Record { client: Some(number % 7), ..Record::new(TraceOperation::Get, number) };
                let parts = (0..4).filter(|part| is_in_share(Some(ClientShare { part: *part, of: 4 }), model, &record));
                assert_eq!(parts.count(), 1);
            }
        }
        let one = |key| Record { client: Some(5), ..Record::new(TraceOperation::Get, key) };
        let share = |record: &Record| hash_id(ordering_id(ReplayModel::ClosedPerClient, record));
        assert_eq!(share(&one(1)), share(&one(2)));
    }
}
