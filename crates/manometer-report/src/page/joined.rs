//! Several recordings in the same charts, before each is shown alone.

use super::run::{charts_left_out, figure};
use crate::Recorded;
use crate::charts::{CHARTS, Chart, Draw, Drawing};
use crate::source::Source;

/// A section for each chart that joins recordings, and why others are left out; adds the names of the charts to `drawn`.
pub(super) fn sections(recordings: &[Recorded], drawn: &mut Vec<&'static str>) -> String {
    let sources: Vec<Source> = recordings.iter().map(Source::new).collect();
    let drawings = CHARTS.iter().filter_map(|chart| Some((chart, draw(chart, &sources)?)));
    let drawings: Vec<(&Chart, Drawing)> = drawings.collect();
    let (shown, left_out): (Vec<_>, Vec<_>) = drawings.iter().partition(|(_, drawing)| !drawing.table.is_empty());
    let mut html = String::new();
    for (chart, drawing) in shown {
        drawn.push(chart.name);
        html.push_str(&figure([chart.name, chart.title, chart.reading], drawing, 0, 2));
    }
    html + &charts_left_out(&left_out, 2)
}

/// What a chart makes of all of them; nothing of one that shows each alone.
fn draw(chart: &Chart, sources: &[Source]) -> Option<Drawing> {
    match chart.draw {
        Draw::Any(draw) | Draw::Joined(draw) => Some(draw(sources)),
        Draw::One(_) | Draw::Figures(_) => None,
    }
}
