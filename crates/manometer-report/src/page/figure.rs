//! A chart on the page: title, caption, picture, data, notes.

use std::fmt::Write as _;

use super::html::{escape, json};
use crate::charts::{Chart, ChartContent};

/// A chart with its name, its title and how to read it.
pub(super) fn figure([name, title, caption]: [&str; 3], drawing: &ChartContent, number: usize, level: usize) -> String {
    let mut html = head(name, title, number, level);
    if !drawing.table.is_empty() {
        _ = writeln!(html, "<p class=\"caption\">{caption}</p>");
        html.push_str(&picture(name, title, drawing, number));
    }
    html + &notes(drawing) + "</section>\n"
}

/// The chart of the first screen: how to read it is behind a click.
pub(super) fn first_figure(chart: &Chart, drawing: &ChartContent, number: usize, level: usize) -> String {
    let Chart { name, title, caption, .. } = chart;
    let mut html = head(name, title, number, level);
    if drawing.table.is_empty() {
        return html + &notes(drawing) + "</section>\n";
    }
    html.push_str(&picture(name, title, drawing, number));
    _ = writeln!(
        html,
        "<details class=\"how\"><summary>How to read it</summary>\n<p class=\"caption\">{caption}</p>\n{}</details>",
        notes(drawing)
    );
    html + "</section>\n"
}

/// The anchor of the chart `name` of run `number`.
pub(super) fn anchor(name: &str, number: usize) -> String {
    format!("{name}-{number}")
}

fn head(name: &str, title: &str, number: usize, level: usize) -> String {
    let anchor = anchor(name, number);
    format!("<section class=\"chart\" aria-labelledby=\"{anchor}\">\n<h{level} id=\"{anchor}\">{title}</h{level}>\n")
}

fn picture(name: &str, title: &str, drawing: &ChartContent, number: usize) -> String {
    format!(
        "<figure data-chart=\"{name}\">\n\
         <div class=\"plot\" role=\"img\" aria-label=\"{title}. {words}\"></div>\n\
         <figcaption><span class=\"save\" data-name=\"{name}-{number}\">\
         <button type=\"button\" data-save=\"csv\">Save the data (CSV)</button> \
         <button type=\"button\" data-save=\"svg\">Save the picture (SVG)</button></span></figcaption>\n\
         <script type=\"application/json\">{data}</script>\n\
         </figure>\n",
        words = escape(&drawing.alt_text),
        data = json(&drawing.table),
    )
}

fn notes(drawing: &ChartContent) -> String {
    drawing.notes.iter().map(|note| format!("<p class=\"note\">{}</p>\n", escape(note))).collect()
}

/// The charts that nothing fills, and why, as one paragraph.
pub(super) fn omitted_charts(charts: &[&(&Chart, ChartContent)]) -> String {
    if charts.is_empty() {
        return String::new();
    }
    let mut html = String::from("<p class=\"note omitted\">Left out:");
    for (chart, drawing) in charts {
        _ = write!(html, " <strong>{}</strong>. {}", chart.title, escape(&drawing.notes.join(" ")));
    }
    html + "</p>\n"
}
