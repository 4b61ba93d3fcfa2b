//! Heat maps: a number by two conditions, a panel for each combination of the others.

use std::collections::BTreeSet;

use serde::Serialize;

use super::phase_points::{Axis, PHASE, PhasePoint, axis, short, varying};
use crate::text;

/// Panels of one chart at most; a note counts the rest.
const PANELS: usize = 24;

/// One cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Cell {
    /// The panel's title, and on a second line its two directions.
    pub(super) panel: String,
    pub(super) panel_order: usize,
    pub(super) x_name: String,
    pub(super) x: String,
    pub(super) x_order: usize,
    /// Empty where there is one direction alone.
    pub(super) y_name: String,
    pub(super) y: String,
    pub(super) y_order: usize,
    pub(super) value: Option<f64>,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// The value by the largest of the chart, −1 to 1: what its colour shows.
    pub(super) shade: Option<f64>,
    /// The value in the cell.
    pub(super) short: String,
    /// Its interval in the cell.
    pub(super) interval: String,
    /// The value with its interval, or why there is none.
    pub(super) text: String,
    /// Whether its interval is on one side of 0.
    pub(super) is_sure: bool,
}

/// The cells of a chart, and how many panels had no room.
pub(super) struct HeatMap {
    cells: Vec<Cell>,
    panels: usize,
}

impl HeatMap {
    pub(super) fn new() -> Self {
        Self { cells: Vec::new(), panels: 0 }
    }

    /// Adds panels of `points` under the title `of`, the direction across being `across` where that is given.
    pub(super) fn add(&mut self, of: &str, points: &[PhasePoint], across: Option<&str>) {
        let Some(plane) = PanelGrid::of(points, across) else { return };
        let mut panels: Vec<(Vec<String>, Vec<&PhasePoint>)> = Vec::new();
        for point in points {
            let rest = plane.rest(point);
            match panels.iter_mut().find(|(known, _)| *known == rest) {
                Some((_, ours)) => ours.push(point),
                None => panels.push((rest, vec![point])),
            }
        }
        for (rest, points) in panels {
            self.panels += 1;
            if self.panels <= PANELS {
                let title = plane.title(of, &rest);
                let order = self.panels;
                self.cells.extend(points.into_iter().map(|point| plane.cell(point, &title, order)));
            }
        }
    }

    /// The cells with their shades, the extremes in words, and what is not shown.
    pub(super) fn finish(mut self) -> (Vec<Cell>, Vec<String>, Vec<String>) {
        let most = self.cells.iter().filter_map(|cell| cell.value).map(f64::abs).fold(0.0, f64::max);
        for cell in &mut self.cells {
            cell.shade = cell.value.map(|value| if most > 0.0 { value / most } else { 0.0 });
        }
        let words = extremes(&self.cells);
        let notes = match self.panels.saturating_sub(PANELS) {
            0 => Vec::new(),
            more => vec![format!("{more} more panels are not shown: choose fewer recordings.")],
        };
        (self.cells, words, notes)
    }
}

/// The two directions of panels.
struct PanelGrid {
    x: Axis,
    y: Option<Axis>,
    /// The conditions that panels differ by.
    rest: Vec<String>,
}

impl PanelGrid {
    /// The directions that make the fewest and fullest panels, no two points being in one place; nothing where points
    /// differ by nothing.
    fn of(points: &[PhasePoint], across: Option<&str>) -> Option<Self> {
        let names: Vec<String> = varying(points).into_iter().map(|axis| axis.name).collect();
        let of_phases: BTreeSet<&str> =
            points.iter().flat_map(|point| point.phase.keys()).map(String::as_str).collect();
        let firsts: Vec<&str> = match across {
            Some(across) => vec![across],
            None => names.iter().map(String::as_str).collect(),
        };
        let seconds: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).chain([None]).collect();
        let pairs = firsts.iter().flat_map(|x| seconds.iter().map(move |y| (*x, *y))).filter(|(x, y)| Some(*x) != *y);
        let plane = |(x, y): (&str, Option<&str>)| {
            let by_phase = x == PHASE || y == Some(PHASE);
            let is_rest = |name: &&String| {
                *name != x
                    && Some(name.as_str()) != y
                    && *name != PHASE
                    && !(by_phase && of_phases.contains(name.as_str()))
            };
            let rest = names.iter().filter(is_rest).cloned().collect();
            Self { x: axis(points, x), y: y.map(|y| axis(points, y)), rest }
        };
        let best = pairs.map(plane).min_by_key(|plane| plane.cost(points))?;
        Some(if across.is_none() { best.turned() } else { best })
    }

    /// What speaks against it: points in one place, panels, places without a point, directions that are no settings, one
    /// direction instead of two.
    fn cost(&self, points: &[PhasePoint]) -> [usize; 5] {
        let places: BTreeSet<_> = points
            .iter()
            .map(|point| {
                let y = self.y.as_ref().map_or("", |y| point.condition(&y.name));
                (self.rest(point), point.condition(&self.x.name), y)
            })
            .collect();
        let panels = points.iter().map(|point| self.rest(point)).collect::<BTreeSet<_>>().len();
        let room = panels * self.x.values.len() * self.y.as_ref().map_or(1, |y| y.values.len());
        let is_setting = |axis: &&Axis| axis.name.contains('.');
        let settings = [Some(&self.x), self.y.as_ref()].into_iter().flatten().filter(is_setting).count();
        [
            points.len() - places.len(),
            panels,
            room.saturating_sub(places.len()),
            2 - settings,
            usize::from(self.y.is_none()),
        ]
    }

    /// The queue depth across, as the field draws it, else the setting with more values.
    fn turned(self) -> Self {
        let Some(y) = self.y else { return self };
        let weight = |axis: &Axis| (short(&axis.name) == "iodepth", axis.values.len());
        let (x, y) = if weight(&y) > weight(&self.x) { (y, self.x) } else { (self.x, y) };
        Self { x, y: Some(y), rest: self.rest }
    }

    /// The conditions that select a point's panel.
    fn rest(&self, point: &PhasePoint) -> Vec<String> {
        self.rest.iter().map(|name| format!("{name} {}", or_dash(point.condition(name)))).collect()
    }

    fn title(&self, of: &str, rest: &[String]) -> String {
        let first: Vec<&str> =
            [of].into_iter().chain(rest.iter().map(String::as_str)).filter(|part| !part.is_empty()).collect();
        let directions = match &self.y {
            Some(y) => format!("{} (x axis), {} (y axis)", self.x.name, y.name),
            None => format!("{} (x axis)", self.x.name),
        };
        if first.is_empty() { directions } else { format!("{}\n{directions}", first.join(", ")) }
    }

    fn cell(&self, point: &PhasePoint, title: &str, panel_order: usize) -> Cell {
        let place = |axis: &Axis| {
            let value = point.condition(&axis.name);
            (
                axis.name.clone(),
                or_dash(value).to_owned(),
                axis.values.iter().position(|known| known == value).unwrap_or(0),
            )
        };
        let (x_name, x, x_order) = place(&self.x);
        let (y_name, y, y_order) = self.y.as_ref().map(place).unwrap_or_default();
        let interval = point.low.zip(point.high);
        Cell {
            panel: title.to_owned(),
            panel_order,
            x_name,
            x,
            x_order,
            y_name,
            y,
            y_order,
            value: point.value,
            low: point.low,
            high: point.high,
            shade: None,
            short: point.value.map_or_else(|| "–".to_owned(), text::pressure),
            interval: interval
                .map_or_else(String::new, |(low, high)| format!("{} to {}", text::pressure(low), text::pressure(high))),
            text: point.describe(),
            is_sure: interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0),
        }
    }
}

fn or_dash(value: &str) -> &str {
    if value.is_empty() { "–" } else { value }
}

/// The largest and the smallest cell, in words.
fn extremes(cells: &[Cell]) -> Vec<String> {
    let measured = || cells.iter().filter(|cell| cell.value.is_some());
    let by_value = |left: &&Cell, right: &&Cell| left.value.unwrap_or(0.0).total_cmp(&right.value.unwrap_or(0.0));
    let describe = |word: &str, cell: &Cell| {
        let down = if cell.y_name.is_empty() { String::new() } else { format!(", {} {}", cell.y_name, cell.y) };
        let panel = cell.panel.split_once('\n').map_or(String::new(), |(title, _)| format!(", {title}"));
        format!("{word} {} at {} {}{down}{panel}", cell.text, cell.x_name, cell.x)
    };
    let most = measured().max_by(by_value).map(|cell| describe("largest", cell));
    let least = measured().min_by(by_value).map(|cell| describe("smallest", cell));
    most.into_iter().chain(least).collect()
}

#[cfg(test)]
#[path = "heat_map_tests.rs"]
mod tests;
