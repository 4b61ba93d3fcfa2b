//! Several recordings in the same charts, before each is shown alone.

use super::run::figure;
use crate::Recorded;
use crate::charts::{CHARTS, Chart, Draw, Drawing};
use crate::source::Source;

/// A section for each chart that joins recordings and has something of these; adds the names of the charts to `drawn`.
pub(super) fn sections(recordings: &[Recorded], drawn: &mut Vec<&'static str>) -> String {
    let sources: Vec<Source> = recordings.iter().map(Source::new).collect();
    let mut html = String::new();
    for (chart, drawing) in CHARTS.iter().filter_map(|chart| Some((chart, draw(chart, &sources)?))) {
        drawn.push(chart.name);
        html.push_str(&figure([chart.name, chart.title, chart.reading], &drawing, 0, 2));
    }
    html
}

/// What a chart makes of all of them. A chart without rows is left out without a word: what is missing in a recording
/// is told where it is shown alone.
fn draw(chart: &Chart, sources: &[Source]) -> Option<Drawing> {
    let drawing = match chart.draw {
        Draw::Any(draw) | Draw::Joined(draw) => draw(sources),
        Draw::One(_) | Draw::Figures(_) => return None,
    };
    (!drawing.table.is_empty()).then_some(drawing)
}
