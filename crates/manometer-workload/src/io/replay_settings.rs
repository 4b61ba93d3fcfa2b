//! The settings by which an `io` workload follows a recorded trace instead of a pattern.

use std::path::PathBuf;

use manometer_trace::TraceForm;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::replay::{ReplayModel, Timing, TraceFile};

/// A recorded trace of a device; used where `trace` is set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BlockReplaySettings {
    /// A recorded trace of a device, plain or compressed, that replaces the pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// How the trace is read.
    #[serde(flatten)]
    pub form: TraceForm,
    /// Which requests of the trace wait for which; default `open`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ReplayModel>,
    /// When the requests of the trace are sent; default `original`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Timing>,
    /// How much faster than recorded, with `time = "scaled"`: 2 halves the span.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
}

impl BlockReplaySettings {
    /// The trace and how it is read.
    pub(super) fn file(&self) -> Option<TraceFile> {
        Some(TraceFile { trace: self.trace.clone()?, form: self.form.clone() })
    }

    pub(super) fn model(&self) -> ReplayModel {
        self.model.unwrap_or_default()
    }

    pub(super) fn time(&self) -> Timing {
        self.time.unwrap_or_default()
    }
}
