//! A chart on the page: title, caption, picture, data, notes.

use std::fmt::Write as _;

use super::html::{escape, json};
use crate::charts::{Chart, ChartContent};

/// A chart with its name, its title and how to read it.
pub(super) fn figure([name, title, caption]: [&str; 3], drawing: &ChartContent, number: usize, level: usize) -> String {
    let mut html = format!("<section class=\"chart\" aria-labelledby=\"{name}-{number}\">\n");
    _ = writeln!(html, "<h{level} id=\"{name}-{number}\">{title}</h{level}>");
    let notes: String = drawing.notes.iter().map(|note| format!("<p class=\"note\">{}</p>\n", escape(note))).collect();
    if drawing.table.is_empty() {
        return html + &notes + "</section>\n";
    }
    _ = write!(
        html,
        "<p class=\"caption\">{caption}</p>\n\
         <figure data-chart=\"{name}\">\n\
         <div class=\"plot\" role=\"img\" aria-label=\"{title}. {words}\"></div>\n\
         <figcaption><span class=\"save\" data-name=\"{name}-{number}\">\
         <button type=\"button\" data-save=\"csv\">Save the data (CSV)</button> \
         <button type=\"button\" data-save=\"svg\">Save the picture (SVG)</button></span></figcaption>\n\
         <script type=\"application/json\">{data}</script>\n\
         </figure>\n{notes}</section>\n",
        words = escape(&drawing.alt_text),
        data = json(&drawing.table),
    );
    html
}

/// The charts that nothing fills, and why.
pub(super) fn omitted_charts(charts: &[&(&Chart, ChartContent)], level: usize) -> String {
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
