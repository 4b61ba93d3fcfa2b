//! One recording's part of the page.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use manometer_measure::{Event, Recording};

use super::figure::{figure, omitted_charts};
use super::html::escape;
use super::run_status::describe_status;
use super::{environment, files, findings, results, verdict};
use crate::charts::{CHARTS, Chart, ChartContent, ChartInput};
use crate::recording_reader::RecordingReader;
use crate::{AnalysedRecording, ReportError, text};

/// The place of a recording on the page.
pub(super) struct RecordingPosition<'a> {
    /// Its number, from 1.
    pub(super) number: usize,
    /// Whether the page holds other recordings.
    pub(super) several: bool,
    /// The folder in which the page lies.
    pub(super) folder: &'a Path,
}

impl RecordingPosition<'_> {
    /// The level of the recording's own heading; its sections are one below.
    fn heading(&self) -> usize {
        if self.several { 2 } else { 1 }
    }
}

/// Everything about one recording; adds the names of its charts to `drawn`.
pub(super) fn article(
    recorded: &AnalysedRecording,
    place: &RecordingPosition,
    drawn: &mut Vec<&'static str>,
) -> Result<String, ReportError> {
    let readers = [RecordingReader::new(recorded)];
    let reader = &readers[0];
    // The charts read the files, so what cannot be read is known only after them.
    let drawings: Vec<(&Chart, ChartContent)> =
        CHARTS.iter().filter_map(|chart| Some((chart, draw(chart, &readers, place)?))).collect();
    drawn.extend(drawings.iter().filter(|(_, drawing)| !drawing.table.is_empty()).map(|(chart, _)| chart.name));
    let findings = findings::collect(reader);
    let level = place.heading() + 1;
    let mut html = format!("<article id=\"run-{}\">\n", place.number);
    html.push_str(&head(recorded, place.heading()));
    html.push_str(&findings::notices(&recorded.summary));
    html.push_str(&verdict::section(&recorded.summary.verdict));
    html.push_str(&recorded.summary.goal.as_ref().map(verdict::goal).unwrap_or_default());
    html.push_str(&results::section(reader, level));
    let (shown, left_out): (Vec<_>, Vec<_>) = drawings.iter().partition(|(_, drawing)| !drawing.table.is_empty());
    for (chart, drawing) in shown {
        html.push_str(&figure([chart.name, chart.title, chart.caption], drawing, place.number, level));
    }
    html.push_str(&downsampling_note(reader));
    html.push_str(&omitted_charts(&left_out, level));
    html.push_str(&environment::section(&recorded.recording, level));
    html.push_str(&findings::section(&findings, level));
    html.push_str(&files::section(&recorded.recording, place.folder, level)?);
    html.push_str("</article>\n");
    Ok(html)
}

/// What a chart shows of one recording; nothing where it has neither rows nor a word.
fn draw(chart: &Chart, readers: &[RecordingReader; 1], place: &RecordingPosition) -> Option<ChartContent> {
    let drawing = match chart.input {
        ChartInput::OneRecording(draw) => draw(&readers[0]),
        // Of several recordings these are drawn once, of all of them.
        ChartInput::Recordings(draw) if !place.several => draw(readers),
        _ => return None,
    };
    (!drawing.table.is_empty() || !drawing.notes.is_empty()).then_some(drawing)
}

/// The headline, and the facts of the run.
fn head(recorded: &AnalysedRecording, level: usize) -> String {
    let AnalysedRecording { recording, summary, settings } = recorded;
    let mut facts = vec![escape(&summary.experiment)];
    if !settings.is_empty() {
        facts.push(escape(&text::settings(settings)));
    }
    if recording.start.unix_ns > 0 {
        let moment = UNIX_EPOCH + Duration::from_nanos(recording.start.unix_ns);
        let moment = humantime::format_rfc3339_seconds(moment).to_string().replace('T', " ").replace('Z', " UTC");
        facts.push(format!("begun {moment}"));
    }
    if let Some(last) = recording.events.last() {
        facts.push(format!("{} long", text::seconds(recording.seconds(last.t_ns).max(0.0))));
    }
    facts.push(escape(&describe_status(&summary.status)));
    facts.extend(describe_engine(recording).map(|words| escape(&words)));
    let headline = if summary.headline.is_empty() { &summary.experiment } else { &summary.headline };
    let facts = facts.join("</span> <span>");
    format!(
        "<header class=\"run\"><h{level}>{}</h{level}>\n<p class=\"facts\"><span>{facts}</span></p></header>\n",
        escape(headline)
    )
}

/// The primary's engine and how durable its puts are: unlike durability makes unlike numbers.
fn describe_engine(recording: &Recording) -> Option<String> {
    let primary = recording.plan.primary()?;
    let facts = recording.events.iter().find_map(|line| match &line.event {
        Event::Ready { workload, facts } if *workload == primary.name => Some(facts),
        _ => None,
    })?;
    let text = |name: &str| facts.get(name)?.as_str();
    Some(format!("{} {}: {}", text("engine")?, text("engine_version")?, text("durability")?))
}

/// A note on downsampled lines, where there are any.
fn downsampling_note(reader: &RecordingReader) -> String {
    let most = reader.bucket_size_max();
    if most <= 1 {
        return String::new();
    }
    format!(
        "<p class=\"note\">Lines over time are downsampled to keep this page small: one point is the mean of up to {most} \
         sample intervals of {}, the pale band around it their smallest and largest value. The recording \
         holds every interval.</p>\n",
        text::seconds(reader.recording.plan.interval_s)
    )
}
