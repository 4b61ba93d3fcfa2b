//! The parameters of a replay.

use std::path::PathBuf;

use manometer_measure::Span;
use manometer_trace::{ReadOptions, TraceError, TraceForm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::interface::ClientShare;
use crate::settings_file::LONGEST_FILE_BYTES;
use manometer_target::engine::EngineOptions;

/// A replay of a recorded trace on a key-value engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReplaySettings {
    /// The engine's name; `manometer engines` lists them.
    pub engine: String,
    /// The engine's options: the path of its own options file, or a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<EngineOptions>,
    /// The trace.
    #[serde(flatten)]
    pub file: TraceFile,
    /// Which requests wait for which answers.
    pub model: ReplayModel,
    /// When requests are sent.
    pub time: Timing,
    /// The speed relative to the recording, with `time = "scaled"`: 2 halves the span.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// How to spread requests that share a time over the step of the trace's clock. Default: one right after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// Threads that send requests, and so the most requests in flight; in an open replay on a server connections, each with
    /// any number of requests in flight. Default: 1 where the model requires it or the engine answers at once, else 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Whether to load the keys that the trace requires, with their recorded sizes, before the first request.
    pub load: bool,
    /// What to do after a read misses.
    pub on_miss: MissAction,
    /// How long an open replay on a server waits for the answer to a request, also to the last one, before it counts as
    /// failed. Default: 30s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub give_up_after: Option<Span>,
    /// Bytes of each value. Default: as recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_size: Option<u32>,
    /// The share of the trace that this process replays, if several replay it together.
    #[schemars(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<ClientShare>,
}

impl Default for ReplaySettings {
    fn default() -> Self {
        Self {
            engine: "rocksdb".to_owned(),
            options: None,
            file: TraceFile::default(),
            model: ReplayModel::default(),
            time: Timing::default(),
            factor: None,
            spread: None,
            threads: None,
            load: false,
            on_miss: MissAction::default(),
            give_up_after: None,
            value_size: None,
            share: None,
        }
    }
}

/// The trace and its format.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TraceFile {
    /// The path of the trace: plain, or compressed with gzip, zstd, lz4 or xz.
    pub trace: PathBuf,
    /// The format, where the content does not identify it.
    #[serde(flatten)]
    pub form: TraceForm,
}

impl TraceFile {
    /// The options for reading the trace.
    ///
    /// # Errors
    /// A setting is invalid; the text says what would be right.
    pub fn options(&self) -> Result<ReadOptions, TraceError> {
        let options = self.form.options(false)?;
        Ok(ReadOptions { keep_details: true, ..options })
    }
}

/// The files that the settings name and that are read whole: options, and a trace of up to 16 MiB.
pub fn files_named(settings: &ReplaySettings) -> Vec<PathBuf> {
    let options = match &settings.options {
        Some(EngineOptions::File(file)) => Some(file.clone()),
        Some(EngineOptions::Table(_)) | None => None,
    };
    let trace = &settings.file.trace;
    let is_short = trace.metadata().is_ok_and(|file| file.is_file() && file.len() <= LONGEST_FILE_BYTES);
    options.into_iter().chain(is_short.then(|| trace.clone())).collect()
}

/// Which requests wait for which answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayModel {
    /// No request waits for another.
    #[default]
    Open,
    /// Each request waits for the answers to all requests before it: one thread.
    ClosedConservative,
    /// Each request waits for the answers to the requests of its client before it.
    ClosedPerClient,
    /// Each request waits for the last answer of its thread: several threads, at full speed. The order may be violated.
    ClosedUnordered,
}

impl ReplayModel {
    /// All models.
    pub const ALL: [Self; 4] = [Self::Open, Self::ClosedConservative, Self::ClosedPerClient, Self::ClosedUnordered];

    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::ClosedConservative => "closed-conservative",
            Self::ClosedPerClient => "closed-per-client",
            Self::ClosedUnordered => "closed-unordered",
        }
    }

    /// Whether the model preserves an order of requests.
    pub fn is_ordered(self) -> bool {
        matches!(self, Self::ClosedConservative | Self::ClosedPerClient)
    }
}

/// When requests are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// At full speed: each as soon as the answers it waits for have arrived.
    Full,
    /// At the recorded times.
    #[default]
    Original,
    /// At the recorded times, scaled by a factor.
    Scaled,
}

impl Timing {
    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Original => "original",
            Self::Scaled => "scaled",
        }
    }
}

/// How requests that share a recorded time are spread over the step of the trace's clock. Their order stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Equally far apart.
    Uniform,
    /// At random, as the arrivals of a Poisson process.
    Poisson,
}

/// What to do after a read misses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissAction {
    /// Nothing.
    #[default]
    Nothing,
    /// Put the value, as a look-aside cache does.
    Put,
}
