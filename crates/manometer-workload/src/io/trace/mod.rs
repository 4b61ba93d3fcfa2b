//! A recorded trace of a device as the source of an `io` workload's requests.
//!
//! [`BlockTrace`] is the trace, read once and checked: its requests, the longest of them, and notes for the user.
//! [`TraceSource`] yields the next request and when it is due, and records the dispatch errors.

mod source;

use manometer_measure::dispatch::DispatchResolution;
use manometer_measure::{ByteSize, Clock};
use manometer_target::file::MAX_BUFFER_BYTES;
use manometer_trace::{Record, TraceOperation, TraceReader};

pub(super) use self::source::{SourceStep, TraceSource};
use super::request::BlockRequest;
use super::{IoError, IoSettings};
use crate::error::WorkloadError;
use crate::kv::pace::wake_precisely;
use crate::replay::lane::{Lane, LaneAssignment, LaneSender, enqueue, flush, lanes};
use crate::replay::plan::{mismatch_of_times, time_notes};
use crate::replay::schedule::{DueTimes, margin_ns};
use crate::replay::second_pass::{SecondPass, reopen};
use crate::replay::survey::{Survey, SurveyScope};
use crate::replay::survey_cache::{FileStamp, cached_survey};
use crate::replay::{ReplayError, ReplayModel, Timing, TraceFile};
use crate::setting_error::SettingError;

/// A request of the trace that waits to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PendingRequest {
    /// When it is due at the recorded speed, in nanoseconds since the first.
    pub(super) recorded_ns: u64,
    pub(super) next: BlockRequest,
}

/// A trace, read once and checked against the files.
#[derive(Debug)]
pub struct BlockTrace {
    file: TraceFile,
    /// The identity of the file when it was read, and the number of its requests, including those that are not sent.
    stamp: Option<FileStamp>,
    all_requests: u64,
    place: BlockMapping,
    pub(super) model: ReplayModel,
    pub(super) time: Timing,
    pub(super) factor: f64,
    /// Requests that will be sent.
    pub(super) requests: u64,
    /// Whether any of them writes.
    pub(super) writes: bool,
    /// The longest request.
    pub(super) slot_bytes: u32,
    pub(super) resolution: DispatchResolution,
    /// Notes for the user.
    pub(super) notes: Vec<String>,
}

impl BlockTrace {
    /// Reads the trace of `settings` to its end, if there is one.
    pub fn new(settings: &IoSettings) -> Result<Option<Self>, IoError> {
        let recorded = &settings.replay;
        let Some(file) = recorded.file() else { return Ok(None) };
        let path = file.trace.display().to_string();
        let unreadable = |error| ReplayError::Trace { path: path.clone(), error };
        let cached_survey = cached_survey(&file, SurveyScope::whole(recorded.model())).map_err(unreadable)?;
        let survey = &cached_survey.survey;
        let place = BlockMapping::new(settings);
        if let Some(reason) = mismatch(recorded.time(), survey) {
            return Err(ReplayError::Unfit { path, reason }.into());
        }
        let factor = recorded.factor.unwrap_or(1.0);
        let scaled = |ns: u64| (ns as f64 / factor).round() as u64;
        Ok(Some(Self {
            slot_bytes: slot_bytes(settings, place, survey.moved_max)?,
            model: recorded.model(),
            time: recorded.time(),
            factor,
            requests: survey.all_requests - survey.operations[TraceOperation::Discard as usize],
            writes: survey.operations[TraceOperation::Write as usize] > 0,
            resolution: DispatchResolution::new(scaled(survey.span_ns), scaled(survey.step_ns).max(1)),
            notes: notes(recorded.time(), place, survey),
            stamp: cached_survey.stamp,
            all_requests: survey.all_requests,
            file,
            place,
        }))
    }

    /// How long before a request is due this thread has to wake to be on time.
    pub(super) fn margin_ns(&self, clock: &dyn Clock) -> u64 {
        if self.time == Timing::Full {
            return 0;
        }
        wake_precisely();
        margin_ns(clock)
    }

    /// Calls `work` to send the requests, which a thread reads ahead.
    pub(super) fn replay<T>(
        &self,
        margin_ns: u64,
        work: impl FnOnce(TraceSource<'_>) -> Result<T, WorkloadError>,
    ) -> Result<T, WorkloadError> {
        let reader = reopen(&self.file, self.stamp)?;
        let (senders, receivers) = lanes(LaneAssignment::Single);
        std::thread::scope(|scope| {
            let feeder = scope.spawn(|| read_ahead(self, reader, senders));
            let worked = work(TraceSource::new(self, Lane::new(&receivers[0]), margin_ns));
            receivers[0].close();
            let fed = feeder.join().map_err(|_| ReplayError::Panicked)?;
            let worked = worked?;
            fed?;
            Ok(worked)
        })
    }
}

/// Maps places of the recorded device to places in files, in whole blocks of `unit` bytes.
#[derive(Debug, Clone, Copy)]
struct BlockMapping {
    unit: u64,
    bytes_each: u64,
    files: u32,
}

impl BlockMapping {
    fn new(settings: &IoSettings) -> Self {
        let unit = settings.block_size.0;
        Self { unit, bytes_each: settings.bytes_each() / unit * unit, files: settings.files }
    }

    /// Where `bytes` at `offset` of the recorded device go: to the same place, wrapped around the end of a smaller file.
    fn place(&self, offset: u64, bytes: u64) -> (u64, u32) {
        let length = (offset % self.unit).saturating_add(bytes.max(1)).div_ceil(self.unit).saturating_mul(self.unit);
        let begin = offset / self.unit * self.unit % self.bytes_each;
        (begin.min(self.bytes_each.saturating_sub(length)), u32::try_from(length).unwrap_or(u32::MAX))
    }

    /// The request of `record` at its place; nothing for a discard.
    fn request(&self, record: &Record) -> Option<BlockRequest> {
        let write = match record.operation {
            TraceOperation::Write => true,
            TraceOperation::Read => false,
            _ => return None,
        };
        let (offset, length) = self.place(record.offset?, record.value_size.unwrap_or(0));
        Some(BlockRequest { write, file: record.device % self.files, offset, length })
    }
}

/// Enqueues the requests of `trace` until its end, or until no thread receives them any more; an error where the trace
/// changed since it was first read.
fn read_ahead(
    trace: &BlockTrace,
    mut reader: Box<dyn TraceReader>,
    mut senders: Vec<LaneSender<PendingRequest>>,
) -> Result<(), ReplayError> {
    let (mut times, mut batch) = (DueTimes::new(1.0), Vec::new());
    let mut again = SecondPass::new(&trace.file, trace.all_requests);
    // A damaged trace ends here; the first reading reported the damage.
    while !matches!(reader.read(&mut batch), Ok(0) | Err(_)) {
        for record in &batch {
            let recorded_ns = times.due_ns(record.time_ns);
            let next = trace.place.request(record);
            again.check(next.map_or(0, |next| u64::from(next.length)), u64::from(trace.slot_bytes))?;
            let Some(next) = next else { continue };
            if enqueue(&mut senders, 0, PendingRequest { recorded_ns, next }).is_err() {
                return Ok(());
            }
        }
    }
    // The receiver may have ended already.
    let _ = flush(&mut senders);
    again.end()
}

/// The reason why a trace cannot be replayed on files.
fn mismatch(time: Timing, survey: &Survey) -> Option<String> {
    let of_keys: u64 = TraceOperation::ALL
        .into_iter()
        .filter(|operation| !operation.is_block())
        .map(|operation| survey.operations[operation as usize])
        .sum();
    if of_keys > 0 {
        return Some(format!(
            "{of_keys} of its requests are for keys and not for a device: replay it with `kind = \"replay\"`"
        ));
    }
    if survey.unplaced > 0 {
        return Some(format!("{} of its requests record no place on the device", survey.unplaced));
    }
    if survey.all_requests > 0 && survey.operations[TraceOperation::Discard as usize] == survey.all_requests {
        return Some("all its requests are discards, which files do not support".to_owned());
    }
    mismatch_of_times(time, survey)
}

/// The longest request in whole blocks, wherever it begins.
fn slot_bytes(settings: &IoSettings, place: BlockMapping, size_max: u64) -> Result<u32, SettingError> {
    let longest = size_max.saturating_add(place.unit - 1).div_ceil(place.unit).saturating_mul(place.unit);
    let room = MAX_BUFFER_BYTES / u64::from(settings.iodepth);
    if longest > room {
        let wanted = format!(
            "the trace's longest request takes {}, and requests in flight may hold {}: write at most {}",
            ByteSize(longest),
            ByteSize(MAX_BUFFER_BYTES),
            (MAX_BUFFER_BYTES / longest).max(1)
        );
        return Err(SettingError::new("iodepth", settings.iodepth, wanted));
    }
    if longest > place.bytes_each {
        let least = ByteSize(longest.saturating_mul(u64::from(settings.files)));
        let wanted = format!("the trace's longest request takes {}: write at least {least}", ByteSize(longest));
        return Err(SettingError::new("file_size", settings.file_size, wanted));
    }
    Ok(longest as u32)
}

/// Notes for the user.
fn notes(time: Timing, place: BlockMapping, survey: &Survey) -> Vec<String> {
    let mut notes = time_notes(time, survey);
    let discards = survey.operations[TraceOperation::Discard as usize];
    if discards > 0 {
        notes.push(format!("{discards} discards are left out"));
    }
    if survey.reach_bytes > place.bytes_each {
        notes.push(format!(
            "the trace covers {} of its device and a file has {}: places beyond its end wrap around to its start",
            ByteSize(survey.reach_bytes),
            ByteSize(place.bytes_each)
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::BlockReplaySettings;

    const MAPPING: BlockMapping = BlockMapping { unit: 4096, bytes_each: 16 << 12, files: 2 };

    #[test]
    fn places_are_whole_blocks_within_the_file() {
        assert_eq!(MAPPING.place(0, 4096), (0, 4096));
        assert_eq!(MAPPING.place(512, 512), (0, 4096));
        assert_eq!(MAPPING.place(4095, 2), (0, 8192));
        assert_eq!(MAPPING.place(17 << 12, 0), (4096, 4096), "beyond the end it goes on from the start");
        assert_eq!(MAPPING.place(15 << 12, 8192), (14 << 12, 8192), "and does not cross the end");
        assert_eq!(MAPPING.place(u64::MAX, 4096), (14 << 12, 8192));
        assert_eq!(MAPPING.place(0, u64::MAX), (0, u32::MAX), "longer than any file");
    }

    #[test]
    fn requests_go_to_their_device_and_discards_nowhere() {
        let of = |operation, device| MAPPING.request(&Record::block(operation, device, 8192, 512, 4096));
        let next = |write, file| Some(BlockRequest { write, file, offset: 8192, length: 4096 });
        assert_eq!([of(TraceOperation::Read, 0), of(TraceOperation::Write, 3)], [next(false, 0), next(true, 1)]);
        assert_eq!(of(TraceOperation::Discard, 0), None);
    }

    #[test]
    fn the_longest_request_must_fit() {
        let settings = IoSettings { file_size: ByteSize(1 << 20), iodepth: 1024, ..IoSettings::default() };
        let place = BlockMapping::new(&settings);
        assert_eq!(slot_bytes(&settings, place, 4096), Ok(8192));
        let wide = slot_bytes(&settings, place, 4 << 20).unwrap_err();
        assert!(wide.name == "iodepth" && wide.wanted.contains("at most 255"), "{wide}");
        let long = slot_bytes(&IoSettings { iodepth: 1, ..settings }, place, 4 << 20).unwrap_err();
        assert!(long.name == "file_size" && long.wanted.contains("at least"), "{long}");
        let endless = slot_bytes(&IoSettings { iodepth: 1, ..IoSettings::default() }, place, u64::MAX);
        assert_eq!(endless.unwrap_err().name, "iodepth");
    }

    /// A trace of blkreplay with requests of these sectors and lengths in sectors.
    fn text(requests: &[(u64, u64)]) -> String {
        let line = |(sector, sectors): &(u64, u64)| format!("0.000000001 ; {sector} ; {sectors} ; R ; 0.0 ; 0.0\n");
        let head = "Copyright nobody\n\nstart ; sector; length ; op ;  replay_delay ; replay_duration\n";
        head.to_owned() + &requests.iter().map(line).collect::<String>()
    }

    #[test]
    fn a_trace_that_changed_between_its_two_readings_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.load");
        std::fs::write(&path, text(&[(0, 8), (8, 8)])).unwrap();
        let recorded = BlockReplaySettings { trace: Some(path.clone()), ..BlockReplaySettings::default() };
        let settings = IoSettings { file_size: ByteSize(1 << 20), replay: recorded, ..IoSettings::default() };
        let trace = BlockTrace::new(&settings).unwrap().unwrap();
        let cases: [(&[(u64, u64)], _); 4] = [
            (&[(0, 8), (8, 8)], None),
            (&[(0, 8), (8, 1 << 20)], Some("request 2 takes")),
            (&[(0, 8)], Some("it ended after 1 of 2 requests")),
            (&[(0, 8), (8, 8), (16, 8)], Some("it had 2 requests and has more")),
        ];
        for (requests, wanted) in cases {
            std::fs::write(&path, text(requests)).unwrap();
            let reader = manometer_trace::open(&path, &trace.file.options().unwrap()).unwrap().reader;
            let (senders, _outlets) = lanes(LaneAssignment::Single);
            let reason = read_ahead(&trace, reader, senders).err().map(|error| error.to_string());
            assert!(
                reason
                    .as_deref()
                    .zip(wanted)
                    .map_or(reason.is_none() && wanted.is_none(), |(reason, wanted)| { reason.contains(wanted) }),
                "{reason:?}"
            );
        }
        let begun = trace.replay(0, |_| Ok(()));
        assert!(begun.unwrap_err().to_string().contains("it changed after it was first read"));
    }
}
