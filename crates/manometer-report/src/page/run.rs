//! One recording's part of the page.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use manometer_analysis::summary::Summary;
use manometer_measure::{Event, Recording};

use super::html::{escape, json};
use super::{environment, files, findings, results};
use crate::charts::{CHARTS, Chart, Draw, Drawing};
use crate::source::Source;
use crate::{Recorded, ReportError, text};

/// Where a recording stands on the page.
pub(super) struct Place<'a> {
    /// Its number, from 1.
    pub(super) number: usize,
    /// Whether the page holds other recordings.
    pub(super) several: bool,
    /// The folder in which the page lies.
    pub(super) folder: &'a Path,
}

impl Place<'_> {
    /// The level of the recording's own heading; its sections are one below.
    fn heading(&self) -> usize {
        if self.several { 2 } else { 1 }
    }
}

/// Everything about one recording; adds the names of its charts to `drawn`.
pub(super) fn article(
    recorded: &Recorded,
    place: &Place,
    drawn: &mut Vec<&'static str>,
) -> Result<String, ReportError> {
    let sources = [Source::new(recorded)];
    let source = &sources[0];
    // The charts read the files, so what cannot be read is known only after them.
    let drawings: Vec<(&Chart, Drawing)> =
        CHARTS.iter().filter_map(|chart| Some((chart, draw(chart, &sources, place)?))).collect();
    drawn.extend(drawings.iter().filter(|(_, drawing)| !drawing.table.is_empty()).map(|(chart, _)| chart.name));
    let findings = findings::collect(source);
    let level = place.heading() + 1;
    let mut html = format!("<article id=\"run-{}\">\n", place.number);
    html.push_str(&head(recorded, place.heading()));
    html.push_str(&findings::notices(&recorded.summary, &findings));
    html.push_str(&results::section(source, level));
    let (shown, left_out): (Vec<_>, Vec<_>) = drawings.iter().partition(|(_, drawing)| !drawing.table.is_empty());
    for (chart, drawing) in shown {
        html.push_str(&figure([chart.name, chart.title, chart.reading], drawing, place.number, level));
    }
    html.push_str(&thinning(source));
    html.push_str(&charts_left_out(&left_out, level));
    html.push_str(&environment::section(&recorded.recording, level));
    html.push_str(&findings::section(&findings, level));
    html.push_str(&files::section(&recorded.recording, place.folder, level)?);
    html.push_str("</article>\n");
    Ok(html)
}

/// What a chart shows of one recording; nothing where it has neither rows nor a word.
fn draw(chart: &Chart, sources: &[Source; 1], place: &Place) -> Option<Drawing> {
    let drawing = match chart.draw {
        Draw::One(draw) => draw(&sources[0]),
        // Of several recordings these are drawn once, of all of them.
        Draw::Any(draw) if !place.several => draw(sources),
        _ => return None,
    };
    (!drawing.table.is_empty() || !drawing.notes.is_empty()).then_some(drawing)
}

/// The sentence that says it all, and what run it is about.
fn head(recorded: &Recorded, level: usize) -> String {
    let Recorded { recording, summary, settings } = recorded;
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
    facts.push(escape(&status_in_words(&summary.status)));
    facts.extend(engine_in_words(recording).map(|words| escape(&words)));
    let headline = if summary.headline.is_empty() { &summary.experiment } else { &summary.headline };
    let facts = facts.join("</span> <span>");
    format!(
        "<header class=\"run\"><h{level}>{}</h{level}>\n<p class=\"facts\"><span>{facts}</span></p></header>\n",
        escape(headline)
    )
}

/// The primary's engine and how durable its puts are: unlike durability makes unlike numbers.
fn engine_in_words(recording: &Recording) -> Option<String> {
    let primary = recording.plan.primary()?;
    let facts = recording.events.iter().find_map(|line| match &line.event {
        Event::Ready { workload, facts } if *workload == primary.name => Some(facts),
        _ => None,
    })?;
    let text = |name: &str| facts.get(name)?.as_str();
    Some(format!("{} {}: {}", text("engine")?, text("engine_version")?, text("durability")?))
}

/// How a run ended.
pub(super) fn status_in_words(status: &str) -> String {
    match status {
        "complete" => "complete".to_owned(),
        "interrupted" => "interrupted".to_owned(),
        "failed" => "failed".to_owned(),
        "cut" => "cut short: the recording has no end".to_owned(),
        other => other.to_owned(),
    }
}

/// Whether a run measured all that it set out to.
pub(super) fn is_complete(summary: &Summary) -> bool {
    summary.status == "complete"
}

/// A chart with its name, its title and how to read it.
pub(super) fn figure([name, title, reading]: [&str; 3], drawing: &Drawing, number: usize, level: usize) -> String {
    let mut html = format!("<section class=\"chart\" aria-labelledby=\"{name}-{number}\">\n");
    _ = writeln!(html, "<h{level} id=\"{name}-{number}\">{title}</h{level}>");
    let notes: String = drawing.notes.iter().map(|note| format!("<p class=\"note\">{}</p>\n", escape(note))).collect();
    if drawing.table.is_empty() {
        return html + &notes + "</section>\n";
    }
    _ = write!(
        html,
        "<p class=\"reading\">{reading}</p>\n\
         <figure data-chart=\"{name}\">\n\
         <div class=\"plot\" role=\"img\" aria-label=\"{title}. {words}\"></div>\n\
         <figcaption><span class=\"save\" data-name=\"{name}-{number}\">\
         <button type=\"button\" data-save=\"csv\">Save the data (CSV)</button> \
         <button type=\"button\" data-save=\"svg\">Save the picture (SVG)</button></span></figcaption>\n\
         <script type=\"application/json\">{data}</script>\n\
         </figure>\n{notes}</section>\n",
        words = escape(&drawing.in_words),
        data = json(&drawing.table),
    );
    html
}

/// The charts that nothing fills, and why.
pub(super) fn charts_left_out(charts: &[&(&Chart, Drawing)], level: usize) -> String {
    if charts.is_empty() {
        return String::new();
    }
    let mut html = format!("<section><h{level}>Charts left out</h{level}>\n<ul class=\"findings\">\n");
    for (chart, drawing) in charts {
        let why = escape(&drawing.notes.join(" "));
        _ = writeln!(html, "<li><span class=\"severity\">{}</span> {why}</li>", chart.title);
    }
    html + "</ul></section>\n"
}

/// Says that lines over time were thinned, where they were.
fn thinning(source: &Source) -> String {
    let most = source.thinnest();
    if most <= 1 {
        return String::new();
    }
    format!(
        "<p class=\"note\">So that this page stays small, lines over time are thinned: one point is the mean of up \
         to {most} sample intervals of {}, the pale band around it their smallest and largest value. The recording \
         holds every interval.</p>\n",
        text::seconds(source.recording.plan.interval_s)
    )
}
