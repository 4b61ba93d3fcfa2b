//! A checked and complete replay.

use std::sync::Arc;

use manometer_measure::dispatch::{DispatchResolution, LATE_NS};
use manometer_measure::{SentAs, Span};
use manometer_target::engine::{self, Capability, EngineInfo, EngineOptions, StorageKind};
use manometer_trace::{Record, TraceError, TraceOperation};

use super::error::ReplayError;
use super::lane::LaneAssignment;
use super::request::{operation, stores_string};
use super::rules;
use super::sent_as;
use super::settings::{MissAction, ReplayModel, ReplaySettings, Spread, Timing, TraceFile};
use super::spread::SpreadTimes;
use super::survey::{BACKWARD_NS_MAX, RequiredKey, Survey, SurveyScope};
use super::survey_cache::{FileStamp, SurveyResult, cached_survey};
use crate::interface::ClientShare;
use crate::kv::request::KvOperation;
use crate::kv::values::{POOLS_WANTED, VALUE_BYTES_MAX, too_many_pools};

/// Size of a value, in bytes, that an engine without storage returns where the trace records no size.
const VALUE_BYTES_UNKNOWN: u64 = 100;

/// A checked and complete replay.
#[derive(Debug)]
pub struct ReplayPlan {
    /// The engine under load.
    pub engine: &'static EngineInfo,
    /// The engine's options.
    pub options: EngineOptions,
    /// The trace.
    pub file: TraceFile,
    /// Which requests wait for which answers.
    pub model: ReplayModel,
    /// When requests are sent.
    pub time: Timing,
    /// The speed relative to the recording.
    pub factor: f64,
    /// The number of client threads.
    pub threads: u32,
    /// Requests of the replayed share.
    pub requests: u64,
    /// Notes about the trace for the user.
    pub notes: Vec<String>,
    pub(super) on_miss: MissAction,
    pub(super) share: Option<ClientShare>,
    pub(super) value_size: Option<u32>,
    pub(super) required: Option<Vec<RequiredKey>>,
    /// The file's version when it was read, and the number of requests in the whole trace.
    pub(super) stamp: Option<FileStamp>,
    pub(super) all_requests: u64,
    pub(super) operations: Vec<KvOperation>,
    pub(super) resolution: DispatchResolution,
    /// How requests of one step of the clock are spread, the step's length as recorded, and the requests of each step.
    spread: Option<(Spread, u64, Arc<[u32]>)>,
    /// How long to wait for an answer, in nanoseconds.
    pub(super) give_up_after_ns: u64,
    /// Whether values are put with their times to live.
    sends_ttl: bool,
    /// Whether recorded commands are sent as they are, and those for several keys.
    sends_commands: bool,
    sends_commands_for_keys: bool,
    /// Whether values read must be those that the replay put: recorded commands put others.
    pub(super) verifies: bool,
    /// What is sent as recorded and what otherwise.
    pub(super) sent_as: Vec<SentAs>,
    /// Recorded requests that the reader does not hold, and the damage of the trace.
    pub(super) lost: u64,
    pub(super) damage: Option<String>,
    /// Size of the longest value and of the average value, in bytes.
    pub(super) value_bytes_max: usize,
    pub(super) value_bytes_mean: usize,
}

impl ReplayPlan {
    /// Resolves and checks `settings`. Reads the trace once; writes nothing.
    ///
    /// # Errors
    /// The settings or the trace are invalid.
    pub fn new(settings: &ReplaySettings) -> Result<Self, ReplayError> {
        let (engine, options) = check(settings)?;
        let factor = settings.factor.unwrap_or(1.0);
        let file = &settings.file;
        let scope = scope_of(settings);
        let (cached_survey, required) = if scope.with_required {
            let read = SurveyResult::read(file, scope);
            let (cached_survey, required) = read.map_err(|error| unreadable(file, error))?;
            (Arc::new(cached_survey), required)
        } else {
            (survey_of(settings)?, Vec::new())
        };
        check_fit(settings, engine, &cached_survey)?;
        let survey = &cached_survey.survey;
        let scaled = |ns: u64| (ns as f64 / factor).round() as u64;
        let size_mean = (survey.size_sum / u128::from(survey.sized.max(1))) as u64;
        let known = |describe: u64| if survey.sized > 0 { describe } else { VALUE_BYTES_UNKNOWN };
        let bytes = |describe: u64| settings.value_size.map_or(known(describe), u64::from) as usize;
        let threads = rules::threads(settings, engine.storage == StorageKind::Nothing);
        let sends_commands = engine.capabilities.contains(&Capability::Command) && survey.details.commands > 0;
        // Their keys may be no strings.
        let required = required.into_iter().filter(|one| !(sends_commands && one.by_command)).collect();
        let value_bytes_max = bytes(survey.size_max.min(VALUE_BYTES_MAX));
        if let Some(got) = too_many_pools(threads, value_bytes_max) {
            return Err(ReplayError::bad("threads", got, POOLS_WANTED));
        }
        Ok(Self {
            engine,
            options,
            file: file.clone(),
            model: settings.model,
            time: settings.time,
            factor,
            threads,
            requests: survey.requests,
            notes: notes(settings, engine, survey),
            on_miss: settings.on_miss,
            share: settings.share,
            value_size: settings.value_size,
            operations: operations_of(settings, survey),
            resolution: resolution(settings, scaled(survey.span_ns), scaled(survey.step_ns).max(1)),
            spread: settings.spread.zip(survey.steps.clone()).map(|(spread, steps)| (spread, survey.step_ns, steps)),
            give_up_after_ns: settings.give_up_after.map_or(rules::GIVE_UP_AFTER_NS, Span::nanoseconds),
            sends_ttl: engine.capabilities.contains(&Capability::TimeToLive),
            sends_commands,
            sends_commands_for_keys: sends_commands && !uses_cluster(settings),
            verifies: !sends_commands,
            sent_as: sent_as::table(settings, engine, survey),
            lost: survey.lost,
            damage: survey.damage.as_ref().map(TraceError::to_string),
            value_bytes_max,
            value_bytes_mean: bytes(size_mean.min(VALUE_BYTES_MAX)),
            required: settings.load.then_some(required),
            stamp: cached_survey.stamp,
            all_requests: survey.all_requests,
        })
    }

    /// Size in bytes of the value of a request whose record has the size `recorded`.
    #[inline]
    pub(super) fn value_bytes(&self, recorded: Option<u64>) -> u32 {
        self.value_size.unwrap_or_else(|| recorded.map_or(0, |bytes| bytes.min(VALUE_BYTES_MAX) as u32))
    }

    /// The time to live to send with a value, in seconds; 0 for ever.
    #[inline]
    pub(super) fn ttl_s(&self, record: &Record) -> u32 {
        if self.sends_ttl && record.operation.stores() { record.ttl_s.unwrap_or(0) } else { 0 }
    }

    /// Whether the recorded command of `record`, for `keys` keys, is sent as it is.
    pub(super) fn sends_command(&self, record: &Record, keys: usize) -> bool {
        let is_sent = if keys > 1 { self.sends_commands_for_keys } else { self.sends_commands };
        let has_other_size = self.value_size.is_some() && stores_string(record.operation);
        is_sent && record.device == 0 && !has_other_size
    }

    /// When requests are due; equal for equal `seed`.
    pub(super) fn times(&self, seed: u64) -> SpreadTimes {
        match &self.spread {
            None => SpreadTimes::recorded(self.factor),
            Some((how, step_ns, counts)) => SpreadTimes::spread(self.factor, *how, *step_ns, Arc::clone(counts), seed),
        }
    }

    /// How requests are assigned to threads.
    pub(super) fn lane_assignment(&self) -> LaneAssignment {
        match self.model {
            ReplayModel::Open | ReplayModel::ClosedConservative => LaneAssignment::Single,
            ReplayModel::ClosedPerClient => LaneAssignment::PerOwner(self.threads),
            ReplayModel::ClosedUnordered => LaneAssignment::Shared,
        }
    }

    /// How requests that share a time are spread, for the recording.
    pub(super) fn spread_name(&self) -> Option<Spread> {
        self.spread.as_ref().map(|(how, ..)| *how)
    }

    /// The number of this process among those that share the trace.
    pub(super) fn part(&self) -> u64 {
        self.share.map_or(0, |share| share.part.into())
    }

    /// Whether this process loads the data that all processes share.
    pub(super) fn prepares(&self) -> bool {
        self.share.is_none_or(|share| share.part == 0)
    }
}

/// The operations that a replay of `settings` may send; empty if the settings are invalid.
pub fn operations(settings: &ReplaySettings) -> Vec<KvOperation> {
    resolve(settings).map(|(_, cached_survey)| operations_of(settings, &cached_survey.survey)).unwrap_or_default()
}

/// Bytes that loading the required keys writes to the device; 0 if nothing is loaded or stored there.
pub fn bytes_to_load(settings: &ReplaySettings) -> u64 {
    if !settings.load || !settings.keeps_data() {
        return 0;
    }
    let Ok((_, cached_survey)) = resolve(settings) else { return 0 };
    let load_size = cached_survey.load_size;
    let fixed = settings.value_size.map(|bytes| load_size.keys.saturating_mul(u64::from(bytes)));
    load_size.key_bytes.saturating_add(fixed.unwrap_or(load_size.value_bytes))
}

/// The engine and the survey of the trace of `settings`, if they are valid.
fn resolve(settings: &ReplaySettings) -> Result<(&'static EngineInfo, Arc<SurveyResult>), ReplayError> {
    let (engine, _) = check(settings)?;
    let cached_survey = survey_of(settings)?;
    check_fit(settings, engine, &cached_survey)?;
    Ok((engine, cached_survey))
}

fn survey_of(settings: &ReplaySettings) -> Result<Arc<SurveyResult>, ReplayError> {
    cached_survey(&settings.file, scope_of(settings)).map_err(|error| unreadable(&settings.file, error))
}

/// What the replay has to know of its trace.
fn scope_of(settings: &ReplaySettings) -> SurveyScope {
    let ReplaySettings { model, share, .. } = *settings;
    // The first of several processes loads for all.
    let with_required = settings.load && share.is_none_or(|share| share.part == 0);
    SurveyScope { model, share, with_required, with_steps: settings.spread.is_some() }
}

/// The resolution of the schedule, whose length and step are those of the replay.
fn resolution(settings: &ReplaySettings, span_ns: u64, step_ns: u64) -> DispatchResolution {
    match settings.spread {
        None => DispatchResolution::new(span_ns, step_ns),
        Some(_) => DispatchResolution::spread(span_ns, step_ns),
    }
}

/// Whether the engine is a cluster, which takes no command for keys of several of its servers.
fn uses_cluster(settings: &ReplaySettings) -> bool {
    settings.options.as_ref().is_some_and(EngineOptions::use_cluster)
}

fn unreadable(file: &TraceFile, error: TraceError) -> ReplayError {
    ReplayError::Trace { path: file.trace.display().to_string(), error }
}

impl ReplaySettings {
    /// Checks what can be checked without reading the trace to its end.
    ///
    /// # Errors
    /// The setting that is wrong, or why the trace cannot be opened.
    pub fn validate(&self) -> Result<(), ReplayError> {
        check(self)?;
        let opened = self.file.options().and_then(|options| manometer_trace::open(&self.file.trace, &options));
        opened.map(drop).map_err(|error| unreadable(&self.file, error))
    }

    /// Checks all of it: reads the trace to its end, unless it was read before, and finds whether it can be replayed.
    ///
    /// # Errors
    /// A setting or the trace is invalid.
    pub fn check_trace(&self) -> Result<(), ReplayError> {
        resolve(self).map(drop)
    }

    /// Whether it leaves its own data in its directory.
    pub(crate) fn keeps_data(&self) -> bool {
        check(self).is_ok_and(|(engine, options)| engine.storage == StorageKind::Disk && !options.use_external_server())
    }
}

/// Checks what can be checked without the trace.
pub(super) fn check(settings: &ReplaySettings) -> Result<(&'static EngineInfo, EngineOptions), ReplayError> {
    let engine = engine::find(&settings.engine)?;
    let options = settings.options.clone().unwrap_or_default();
    (engine.check_options)(&options)?;
    rules::check(settings)?;
    check_give_up(settings, engine)?;
    if let Some(bytes) = settings.value_size.filter(|bytes| u64::from(*bytes) > VALUE_BYTES_MAX) {
        return Err(ReplayError::bad("value_size", bytes.to_string(), "values have 64 MiB at most"));
    }
    let several = settings.share.is_some_and(|share| share.of > 1);
    if several && engine.storage != StorageKind::Nothing && !options.use_external_server() {
        let wanted = "several processes need one server: give its `address` as an option of the engine, or \
                      write one process";
        return Err(ReplayError::bad("processes", format!("more than one on {}", engine.name), wanted));
    }
    Ok((engine, options))
}

/// Checks the limit of waiting for an answer.
fn check_give_up(settings: &ReplaySettings, engine: &EngineInfo) -> Result<(), ReplayError> {
    let Some(span) = settings.give_up_after else { return Ok(()) };
    let bad = |wanted: &str| Err(ReplayError::bad("give_up_after", span.to_string(), wanted));
    if settings.model != ReplayModel::Open || !engine.capabilities.contains(&Capability::OpenLoop) {
        return bad("only an open replay on redis or memcached gives requests up: leave it out");
    }
    match span.nanoseconds() {
        0 => bad("write more than nothing, for example `5s`"),
        _ => Ok(()),
    }
}

/// Refuses a trace that cannot be replayed as `settings` say.
fn check_fit(settings: &ReplaySettings, engine: &EngineInfo, cached_survey: &SurveyResult) -> Result<(), ReplayError> {
    match mismatch(settings, engine, cached_survey) {
        None => Ok(()),
        Some(reason) => Err(ReplayError::Unfit { path: settings.file.trace.display().to_string(), reason }),
    }
}

fn mismatch(settings: &ReplaySettings, engine: &EngineInfo, cached_survey: &SurveyResult) -> Option<String> {
    let survey = &cached_survey.survey;
    if let Some(reason) = mismatch_of_times(settings.time, survey) {
        return Some(reason);
    }
    if settings.spread.is_some() && survey.step_ns <= LATE_NS {
        return Some(format!(
            "its clock goes in steps of {} µs: there is nothing to spread requests over; leave `spread` out",
            survey.step_ns as f64 / 1e3
        ));
    }
    if settings.model == ReplayModel::ClosedPerClient && survey.clients_absent == survey.requests && survey.requests > 0
    {
        return Some(
            "it records no clients, which the model closed-per-client needs: choose open or closed-conservative"
                .to_owned(),
        );
    }
    let takes_commands = engine.capabilities.contains(&Capability::Command);
    let by_command = if takes_commands { survey.details.command_scans } else { 0 };
    let scans = survey.operations[TraceOperation::Scan as usize] - by_command;
    if scans > 0 && !engine.capabilities.contains(&Capability::Scan) {
        return Some(format!(
            "{scans} of its requests scan, but {} keeps no order of keys: choose another engine",
            engine.name
        ));
    }
    too_long_key(engine, survey).or_else(|| unsized_values(settings, takes_commands, cached_survey))
}

/// That `engine` does not take the longest key.
fn too_long_key(engine: &EngineInfo, survey: &Survey) -> Option<String> {
    let most = engine.key_bytes_max.filter(|most| u64::from(survey.key_bytes_max) > *most)?;
    Some(format!(
        "its longest key has {} bytes, and {} takes {most} at most: choose another engine",
        survey.key_bytes_max, engine.name
    ))
}

/// Why a trace with such times, or without any request, cannot be replayed in `time`.
pub(crate) fn mismatch_of_times(time: Timing, survey: &Survey) -> Option<String> {
    if survey.all_requests == 0 {
        return Some(match &survey.damage {
            Some(damage) => format!("not one request of it can be read: {damage}"),
            None => "it holds no request".to_owned(),
        });
    }
    let timed = time != Timing::Full;
    if timed && survey.times_absent == survey.all_requests {
        return Some(format!(
            "it has no times, which `time = {}` needs: write `time = full` with the model closed-conservative or \
             closed-unordered",
            time.name()
        ));
    }
    let (request, back_ns) = survey.turned_back.filter(|_| timed)?;
    Some(format!(
        "at request {request} its time goes back by {:.3} s, and the disorder of recording threads \
         is at most {:.0} s: it seems to be several traces concatenated, or not sorted; replay them one by one, or sort \
         it by time",
        back_ns as f64 / 1e9,
        BACKWARD_NS_MAX as f64 / 1e9,
    ))
}

/// The requests that need a size and have none, as a message.
fn unsized_values(
    settings: &ReplaySettings,
    takes_commands: bool,
    SurveyResult { survey, load_size, .. }: &SurveyResult,
) -> Option<String> {
    if settings.value_size.is_some() {
        return None;
    }
    let by_command = if takes_commands { 0 } else { survey.stores_unsized_by_command };
    let loaded = load_size.unsized_keys;
    let filled = if settings.on_miss == MissAction::Put { survey.reads_unsized } else { 0 };
    let (count, what) = [
        (survey.stores_unsized + by_command, "of its writes have no size"),
        (filled, "of its reads have no size to put after a miss"),
        (loaded, "keys to load have no size anywhere in it"),
    ]
    .into_iter()
    .find(|(count, _)| *count > 0)?;
    Some(format!("{count} {what}: set the bytes of a value with `value_size` (`--value-size`)"))
}

/// The operations that may happen.
fn operations_of(settings: &ReplaySettings, survey: &Survey) -> Vec<KvOperation> {
    let there = TraceOperation::ALL.into_iter().filter(|recorded| survey.operations[*recorded as usize] > 0);
    let mut operations: Vec<KvOperation> = there.map(operation).collect();
    if settings.on_miss == MissAction::Put {
        operations.push(KvOperation::Fill);
    }
    operations.sort_unstable();
    operations.dedup();
    operations
}

/// Notes for the user on the trace's end and its times.
pub(crate) fn time_notes(time: Timing, survey: &Survey) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(damage) = &survey.damage {
        notes.push(format!("{damage}; the {} requests before it are replayed", survey.all_requests));
    }
    let timed = time != Timing::Full;
    if timed && survey.times_backward > 0 {
        notes.push(format!(
            "{} times are earlier than one before them, by up to {:.6} s: these requests are due with the one before \
             them, in the order of the trace",
            survey.times_backward,
            survey.backward_ns as f64 / 1e9,
        ));
    }
    if timed && survey.times_absent > 0 {
        notes.push(format!("{} requests have no time and are due with the one before them", survey.times_absent));
    }
    if timed && survey.step_ns >= 1_000_000 && survey.span_ns > 0 {
        notes.push(format!(
            "the trace's clock goes in steps of {} ms: where within a step a request was recorded is unknown, and fidelity is \
             judged no finer than that",
            survey.step_ns / 1_000_000,
        ));
    }
    notes
}

/// Notes for the user.
fn notes(settings: &ReplaySettings, engine: &EngineInfo, survey: &Survey) -> Vec<String> {
    let mut notes = time_notes(settings.time, survey);
    let blocks: u64 =
        TraceOperation::ALL.into_iter().filter(|one| one.is_block()).map(|one| survey.operations[one as usize]).sum();
    if blocks > 0 {
        notes.push(format!(
            "{blocks} requests are those of a device: on {} the sector where a request starts is its key, a read is a get, a \
             write a put, a discard a delete",
            engine.name
        ));
    }
    if survey.size_max > VALUE_BYTES_MAX && settings.value_size.is_none() {
        notes.push(format!(
            "values are cut to {} MiB; the longest has {} bytes",
            VALUE_BYTES_MAX >> 20,
            survey.size_max
        ));
    }
    if settings.model == ReplayModel::ClosedPerClient && survey.clients_absent > 0 {
        notes.push(format!("{} requests record no client and count as those of one client", survey.clients_absent));
    }
    notes
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
