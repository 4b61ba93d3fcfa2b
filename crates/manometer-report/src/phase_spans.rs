//! When the phases of a recording ran, from its events.

use manometer_analysis::summary::PhaseSummary;
use manometer_measure::plan::{Phase, PhaseKind, Plan};
use manometer_measure::{Event, Recording};

use crate::text;

/// How a phase came out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SpanOutcome {
    /// It was measured to its end.
    Measured,
    /// It could not be measured, or not to its end.
    Gap {
        /// Why.
        reason: String,
    },
    /// The recording ends within it.
    Cut,
}

/// The interval in which a phase ran.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PhaseSpan<'a> {
    /// The plan that it is a part of.
    pub(crate) plan: &'a Plan,
    /// The phase in the plan.
    pub(crate) phase: &'a Phase,
    /// Whether it is one block of the phase, of many.
    pub(crate) is_block: bool,
    /// When its measurement began, in seconds since the recording's start.
    pub(crate) begin_s: f64,
    /// When its measurement ended.
    pub(crate) end_s: f64,
    /// How it came out.
    pub(crate) outcome: SpanOutcome,
}

impl PhaseSpan<'_> {
    /// What the band of the phase shows: `gap` where it has one, else what the phase is for.
    pub(crate) fn kind(&self) -> &'static str {
        match (&self.outcome, self.phase.kind) {
            (SpanOutcome::Gap { .. } | SpanOutcome::Cut, _) => "gap",
            (_, PhaseKind::Solo) => "solo",
            (_, PhaseKind::Warmup) => "warm-up",
            (_, PhaseKind::Baseline) => "no neighbour",
            (_, PhaseKind::Pressure) => "neighbours",
        }
    }

    /// The neighbours that run, each with its settings as they are in this phase: `writer iodepth 16, reader`.
    pub(crate) fn neighbours(&self) -> String {
        let Phase { running, settings, .. } = self.phase;
        let of = |name: &String| {
            let own = settings.iter().filter_map(|(setting, value)| {
                let setting = setting.strip_prefix(name.as_str())?.strip_prefix('.')?;
                Some(format!(" {setting} {}", text::plain(value)))
            });
            own.fold(name.clone(), |text, setting| text + &setting)
        };
        let is_primary = |name: &String| self.plan.primary().is_some_and(|primary| primary.name == *name);
        let beside = running.iter().filter(|name| !is_primary(name));
        beside.map(of).collect::<Vec<_>>().join(", ")
    }
}

/// The phases that began, in the order of the plan, then the blocks of an interleaved plan in the order of time; one without
/// an end lasts until `last_s`.
pub(crate) fn spans(recording: &Recording, last_s: f64) -> Vec<PhaseSpan<'_>> {
    let phases = recording.plan.phases.iter().filter_map(|phase| span(recording, phase, last_s));
    phases.chain(block_spans(recording, last_s)).collect()
}

fn block_spans(recording: &Recording, last_s: f64) -> Vec<PhaseSpan<'_>> {
    let mut spans: Vec<PhaseSpan<'_>> = Vec::new();
    for line in &recording.events {
        let at_s = recording.seconds(line.t_ns);
        match &line.event {
            Event::BlockStarted { phase, .. } => spans.extend(recording.plan.phase(phase).map(|phase| PhaseSpan {
                plan: &recording.plan,
                phase,
                is_block: true,
                begin_s: at_s,
                end_s: last_s.max(at_s),
                outcome: SpanOutcome::Cut,
            })),
            Event::BlockEnded { phase, .. } => end_last(&mut spans, phase, at_s, SpanOutcome::Measured),
            Event::BlockGap { phase, reason, .. } => {
                end_last(&mut spans, phase, at_s, SpanOutcome::Gap { reason: reason.clone() });
            }
            _ => {}
        }
    }
    spans
}

/// Ends the last of `spans`, if it is one of `phase` that still runs.
fn end_last(spans: &mut [PhaseSpan<'_>], phase: &str, at_s: f64, outcome: SpanOutcome) {
    if let Some(last) = spans.last_mut().filter(|last| last.phase.id == phase && last.outcome == SpanOutcome::Cut) {
        (last.end_s, last.outcome) = (at_s, outcome);
    }
}

fn span<'a>(recording: &'a Recording, phase: &'a Phase, last_s: f64) -> Option<PhaseSpan<'a>> {
    let mut begin_s = None;
    let mut end = None;
    for line in &recording.events {
        let at_s = recording.seconds(line.t_ns);
        match &line.event {
            Event::PhaseStarted { phase: id } if *id == phase.id => begin_s = Some(at_s),
            Event::PhaseEnded { phase: id } if *id == phase.id => {
                end = Some((at_s, SpanOutcome::Measured));
            }
            Event::PhaseGap { phase: id, reason } if *id == phase.id => {
                end = Some((at_s, SpanOutcome::Gap { reason: reason.clone() }));
            }
            _ => {}
        }
    }
    let begin_s = begin_s?;
    let (end_s, outcome) = end.unwrap_or((last_s.max(begin_s), SpanOutcome::Cut));
    Some(PhaseSpan { plan: &recording.plan, phase, is_block: false, begin_s, end_s, outcome })
}

/// Why the phase `id` has no data, as far as it is recorded.
pub(crate) fn gap_reason<'a>(recording: &'a Recording, id: &str) -> Option<&'a str> {
    recording.events.iter().find_map(|line| match &line.event {
        Event::PhaseGap { phase, reason } if phase == id => Some(reason.as_str()),
        _ => None,
    })
}

/// The text for a phase without data, with the reason.
pub(crate) fn missing_reason(recording: &Recording, phase: &PhaseSummary) -> String {
    let begun =
        recording.events.iter().any(|line| matches!(&line.event, Event::PhaseStarted { phase: id } if *id == phase.id));
    let what = if begun { text::NOT_MEASURED } else { "not run" };
    let recorded = gap_reason(recording, &phase.id).or(phase.performance.reason.as_deref());
    let reason = recorded.or(phase.pressure.reason.as_deref()).unwrap_or("no reason was recorded");
    format!("{what}: {reason}")
}
