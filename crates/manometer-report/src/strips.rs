//! Charts over time: strips of lines one above the other on a shared time axis, the phases as bands.

use serde::Serialize;

use crate::downsample::Point;
use crate::phase_spans::PhaseSpan;
use crate::recording_reader::RecordingReader;
use crate::text;

/// One row of a chart over time: a phase's band in one strip, or one point of one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TimeRow {
    /// `phase` or `line`.
    pub(crate) row: &'static str,
    /// The strip's title, with the unit.
    pub(crate) strip: String,
    /// The strip's place from above.
    pub(crate) order: usize,
    /// The line's name, or what the band's phase is for.
    pub(crate) series: String,
    /// The moment, or when the phase began, in seconds since the recording's start.
    pub(crate) t_s: f64,
    /// When the phase ended.
    pub(crate) end_s: Option<f64>,
    /// The smallest of the values that `mean` stands for, where it stands for several.
    pub(crate) low: Option<f64>,
    /// The value; missing where it was not measured.
    pub(crate) mean: Option<f64>,
    /// The largest of them.
    pub(crate) high: Option<f64>,
    /// The phase's id, in the uppermost strip; none for a block, of which there are too many.
    pub(crate) label: Option<String>,
    /// The neighbours in the phase, with their settings, in the uppermost strip.
    pub(crate) more: Option<String>,
    /// The same where bands are too narrow for it: the phase's own name, if that is shorter.
    pub(crate) short: Option<String>,
}

/// A named line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    /// Its name.
    pub(crate) name: String,
    /// Its points.
    pub(crate) points: Vec<Point>,
}

/// Lines that share one scale.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Strip {
    /// Its title, with the unit.
    pub(crate) title: String,
    /// Its lines.
    pub(crate) lines: Vec<Line>,
}

impl Strip {
    /// The strip `title` of those `lines` that were measured; nothing where none was.
    pub(crate) fn of(title: impl Into<String>, lines: Vec<Line>) -> Option<Self> {
        let measured = |line: &Line| line.points.iter().any(|point| point.mean.is_some());
        let lines: Vec<Line> = lines.into_iter().filter(measured).collect();
        (!lines.is_empty()).then(|| Self { title: title.into(), lines })
    }

    /// Whether each of its values is zero.
    pub(crate) fn is_zero(&self) -> bool {
        let largest = |point: &Point| point.high.or(point.mean).unwrap_or(0.0);
        let smallest = |point: &Point| point.low.or(point.mean).unwrap_or(0.0);
        self.lines.iter().flat_map(|line| &line.points).all(|point| largest(point) == 0.0 && smallest(point) == 0.0)
    }

    /// The strip in words: each line with its smallest, mean and largest value.
    pub(crate) fn describe(&self) -> String {
        let lines: Vec<String> = self.lines.iter().map(describe_line).collect();
        format!("{}: {}", self.title, lines.join("; "))
    }
}

fn describe_line(line: &Line) -> String {
    let means: Vec<f64> = line.points.iter().filter_map(|point| point.mean).collect();
    let mean = means.iter().sum::<f64>() / means.len().max(1) as f64;
    let low = line.points.iter().filter_map(|point| point.low.or(point.mean)).fold(f64::INFINITY, f64::min);
    let high = line.points.iter().filter_map(|point| point.high.or(point.mean)).fold(f64::NEG_INFINITY, f64::max);
    format!("{} from {} to {}, mean {}", line.name, text::number(low), text::number(high), text::number(mean))
}

/// A line named `name` of the column `column` of `series`, times `factor`; without the column it is empty.
pub(crate) fn column_line(
    reader: &RecordingReader,
    name: &str,
    (series, column): (&str, &str),
    factor: f64,
    limit: usize,
) -> Line {
    let points = reader.column(series, column, factor).unwrap_or_default();
    Line { name: name.to_owned(), points: reader.line(points, limit) }
}

/// The rows of a chart of `strips`, from above, over the bands of `phases`.
pub(crate) fn rows(strips: &[Strip], phases: &[PhaseSpan]) -> Vec<TimeRow> {
    let mut rows = Vec::new();
    for (order, strip) in strips.iter().enumerate() {
        rows.extend(bands(&strip.title, order, phases));
        for line in &strip.lines {
            rows.extend(line.points.iter().map(|point| point_row(strip, order, line, point)));
        }
    }
    rows
}

/// The bands of `phases` in the strip `title`, which is the `order`th from above.
pub(crate) fn bands(title: &str, order: usize, phases: &[PhaseSpan]) -> Vec<TimeRow> {
    let is_labelled = |span: &PhaseSpan| order == 0 && !span.is_block;
    let band = |span: &PhaseSpan| TimeRow {
        row: "phase",
        strip: title.to_owned(),
        order,
        series: span.kind().to_owned(),
        t_s: span.begin_s,
        end_s: Some(span.end_s),
        low: None,
        mean: None,
        high: None,
        label: is_labelled(span).then(|| span.phase.id.clone()),
        more: is_labelled(span).then(|| span.neighbours()),
        short: is_labelled(span).then(|| shorter(span)).flatten(),
    };
    phases.iter().map(band).collect()
}

/// The shorter description of a phase's neighbours, if it has any.
fn shorter(span: &PhaseSpan) -> Option<String> {
    let (all, own) = (span.neighbours(), &span.phase.label);
    (!all.is_empty()).then(|| if own.len() < all.len() { own.clone() } else { all })
}

fn point_row(strip: &Strip, order: usize, line: &Line, point: &Point) -> TimeRow {
    TimeRow {
        row: "line",
        strip: strip.title.clone(),
        order,
        series: line.name.clone(),
        t_s: point.t_s,
        end_s: None,
        low: point.low,
        mean: point.mean,
        high: point.high,
        label: None,
        more: None,
        short: None,
    }
}
