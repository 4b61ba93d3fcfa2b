//! The parts of a run's page, and which chart belongs to which.

/// A part of a run's page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// What the phases cost.
    Result,
    /// The run from its start to its end.
    OverTime,
    /// How long requests took.
    Latency,
    /// Devices and processors.
    Host,
    /// The primary's engine.
    Engine,
    /// Where it was measured.
    Environment,
    /// What was noticed, and the files.
    Findings,
}

impl Group {
    /// All of them, in the order of the page.
    pub(super) const ALL: [Self; 7] =
        [Self::Result, Self::OverTime, Self::Latency, Self::Host, Self::Engine, Self::Environment, Self::Findings];

    /// The part that shows the chart `name`.
    pub(super) fn of_chart(name: &str) -> Self {
        match name {
            "timeline" | "blocks" => Self::OverTime,
            "latency-spectrum" | "latency-heat-map" | "response-service" => Self::Latency,
            "replay-dispatch" | "replay-interarrivals" | "replay-windows" => Self::Latency,
            "device" | "io-stacked" | "device-health" | "cpu" | "cpu-cores" | "scatter-matrix" => Self::Host,
            "levels" | "warm-up" | "write-amplification-size" => Self::Engine,
            _ => Self::Result,
        }
    }

    /// Its heading.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Result => "Result",
            Self::OverTime => "Over time",
            Self::Latency => "Latency",
            Self::Host => "Host",
            Self::Engine => "Engine",
            Self::Environment => "Environment",
            Self::Findings => "Findings",
        }
    }

    /// Its anchor in the part of run `number`.
    pub(super) fn anchor(self, number: usize) -> String {
        format!("{}-{number}", self.title().to_lowercase().replace(' ', "-"))
    }
}
