//! One recording's part of the page.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use manometer_measure::event::Finding;
use manometer_measure::{Event, Recording};

use super::contents::Entry;
use super::figure::{anchor, figure, first_figure, omitted_charts};
use super::groups::Group;
use super::html::{escape, heading};
use super::run_status::describe_status;
use super::{environment, files, findings, results, verdict};
use crate::charts::figures::pressure_scale;
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
    /// The level of the recording's own heading; its parts are one below, their sections two.
    fn heading(&self) -> usize {
        if self.several { 2 } else { 1 }
    }
}

/// One recording's part of the page.
pub(super) struct Article {
    /// Its markup.
    pub(super) html: String,
    /// Its places for the contents.
    pub(super) entries: Vec<Entry>,
    /// The names of the charts that it draws.
    pub(super) drawn: Vec<&'static str>,
}

/// A chart and what it shows of the recording.
type Drawing = (&'static Chart, ChartContent);

/// Everything about one recording.
pub(super) fn article(recorded: &AnalysedRecording, place: &RecordingPosition) -> Result<Article, ReportError> {
    let readers = [RecordingReader::new(recorded)];
    let reader = &readers[0];
    // The charts read the files, so what cannot be read is known only after them.
    let drawings: Vec<Drawing> =
        CHARTS.iter().filter_map(|chart| Some((chart, draw(chart, &readers, place)?))).collect();
    let findings = findings::collect(reader);
    let level = place.heading() + 1;
    let number = place.number;
    let mut html = format!("<article id=\"run-{number}\">\n");
    html.push_str(&first_screen(recorded, &drawings, &findings, place));
    let mut entries = Vec::new();
    for group in Group::ALL {
        let mut part = match group {
            Group::Result => results::section(reader, level + 1),
            Group::Environment => environment::cards(&recorded.recording, level + 1),
            Group::Findings => {
                findings::list(&findings, number) + &files::section(&recorded.recording, place.folder, level + 1)?
            }
            Group::OverTime => downsampling_note(reader),
            Group::Latency | Group::Host | Group::Engine => String::new(),
        };
        let mut entry = Entry::of(format!("#{}", group.anchor(number)), group.title());
        part.push_str(&charts(group, &drawings, place, &mut entry.within));
        if !part.is_empty() {
            let (anchor, title) = (group.anchor(number), group.title());
            html.push_str(&format!(
                "<section class=\"group\" id=\"{anchor}\">\n<h{level}>{title}</h{level}>\n{part}</section>\n"
            ));
            entries.push(entry);
        }
    }
    html.push_str("</article>\n");
    let drawn = drawings.iter().filter(|(_, drawing)| !drawing.table.is_empty()).map(|(chart, _)| chart.name).collect();
    Ok(Article { html, entries, drawn })
}

/// What a reader sees first: the verdict in a sentence, the pressure scale, the caveats, and what to do next.
fn first_screen(
    recorded: &AnalysedRecording,
    drawings: &[Drawing],
    findings: &[Finding],
    place: &RecordingPosition,
) -> String {
    let AnalysedRecording { summary, .. } = recorded;
    let level = place.heading();
    let headline = if summary.headline.is_empty() { &summary.experiment } else { &summary.headline };
    let scale = drawings.iter().find(|(chart, _)| chart.name == pressure_scale::CHART.name);
    let scale = scale.map(|(chart, drawing)| first_figure(chart, drawing, place.number, level + 1));
    format!(
        "<header class=\"run\"><h{level}>{}</h{level}>\n{}<div class=\"glance\">\n{}<div class=\"reading\">\n{}</div>\n\
         </div>\n{}</header>\n",
        heading(headline),
        findings::notices(summary),
        scale.unwrap_or_default(),
        verdict::of_run(summary, findings, place.number),
        facts(recorded),
    )
}

/// The charts of `group`, and why others of it are left out; those that are shown are added to `entries`.
fn charts(group: Group, drawings: &[Drawing], place: &RecordingPosition, entries: &mut Vec<Entry>) -> String {
    let is_ours =
        |(chart, _): &&Drawing| Group::of_chart(chart.name) == group && chart.name != pressure_scale::CHART.name;
    let (shown, omitted): (Vec<&Drawing>, Vec<&Drawing>) =
        drawings.iter().filter(is_ours).partition(|(_, drawing)| !drawing.table.is_empty());
    let mut html = String::new();
    for (chart, drawing) in shown {
        entries.push(Entry::of(format!("#{}", anchor(chart.name, place.number)), chart.title));
        html.push_str(&figure([chart.name, chart.title, chart.caption], drawing, place.number, place.heading() + 2));
    }
    html + &omitted_charts(&omitted)
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

/// The facts of the run.
fn facts(recorded: &AnalysedRecording) -> String {
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
    format!("<p class=\"facts\"><span>{}</span></p>\n", facts.join("</span> <span>"))
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
