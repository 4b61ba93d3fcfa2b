//! The neighbours' own throughput, by their settings.

use std::collections::{HashMap, HashSet};

use manometer_analysis::summary::{NeighbourSummary, PhaseSummary};
use serde::Serialize;

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::charts::phase_points::{
    Axis, Conditions, PHASE, PhasePoint, amount, axis, instances_of, of_all_instances, of_several_instances, run_facts,
    short, varying,
};
use crate::charts::phase_rows::{PhaseRun, describe, runs};
use crate::recording_reader::RecordingReader;
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "neighbour-throughput",
    title: "Throughput of the neighbours",
    origin: Some("Lange 2023, Figures 4.9, 4.10, 4.16 and 4.20"),
    caption: "The neighbour's own throughput (y axis) by its queue depth, or by another of its settings (x axis), a \
              line for each share of writes, or for each value of a further setting; whiskers are 95 % intervals. Each \
              combination of what else differs, such as running alone, has a panel. Phases in which instances of one \
              neighbour differ are omitted.",
    spec: include_str!("../../../charts/neighbour-throughput.vl.json"),
    input: ChartInput::Recordings(draw),
};

/// Panels at most; a note counts the rest.
const PANELS: usize = 24;
/// Settings that the field draws across, and as lines.
const ACROSS: &str = "iodepth";
const LINES: &str = "write_ratio";
/// Who else runs.
const OTHERS: &str = "alongside";

/// One neighbour in one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct ThroughputPoint {
    panel: String,
    panel_order: usize,
    neighbour: String,
    phase: String,
    x_name: String,
    x: String,
    x_order: usize,
    line: String,
    line_order: usize,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    text: String,
}

/// What one neighbour reached in one phase.
struct NeighbourPoint {
    run: String,
    neighbour: String,
    unit: String,
    text: String,
    point: PhasePoint,
}

fn draw(readers: &[RecordingReader]) -> ChartContent {
    let runs = runs(readers);
    let reached: Vec<NeighbourPoint> = runs.iter().flat_map(of_run).collect();
    let points: Vec<PhasePoint> = reached.iter().map(|reached| reached.point.clone()).collect();
    if points.iter().filter(|point| point.value.is_some()).count() < 2 {
        return ChartContent::empty("There are no two throughputs of neighbours to compare: this chart is left out.");
    }
    let directions = Directions::of(&points);
    let titles = panel_titles(&reached, &directions);
    let mut panels: Vec<&String> = Vec::new();
    let mut rows = Vec::new();
    for (reached, panel) in reached.iter().zip(&titles) {
        let known = panels.iter().position(|known| *known == panel);
        let panel_order = known.unwrap_or_else(|| {
            panels.push(panel);
            panels.len() - 1
        });
        if panel_order < PANELS {
            rows.push(directions.row(reached, panel.clone(), panel_order));
        }
    }
    let notes = match panels.len().saturating_sub(PANELS) {
        0 => Vec::new(),
        more => vec![format!("{more} more panels are not shown: choose fewer recordings.")],
    };
    let words: Vec<String> =
        rows.iter().map(|row| format!("{}, {} {} {}: {}", row.panel, row.x_name, row.x, row.line, row.text)).collect();
    ChartContent::of(&rows, &words, notes)
}

/// The panel of each. A line with several runs, or phases of one, in one place would go back and forth: they get
/// separate panels.
fn panel_titles(reached: &[NeighbourPoint], directions: &Directions) -> Vec<String> {
    let mut titles: Vec<String> = reached.iter().map(|reached| directions.panel(reached)).collect();
    let more: [fn(&NeighbourPoint) -> &String; 2] = [|reached| &reached.run, |reached| &reached.point.id];
    for more in more {
        let places: Vec<_> =
            reached.iter().zip(&titles).map(|(one, title)| (title.clone(), directions.place(one))).collect();
        let mut counts: HashMap<_, usize> = HashMap::new();
        places.iter().for_each(|place| *counts.entry(place).or_default() += 1);
        let shared: HashSet<&String> =
            places.iter().filter(|place| counts[place] > 1).map(|(title, _)| title).collect();
        for ((title, one), (before, _)) in titles.iter_mut().zip(reached).zip(&places) {
            if shared.contains(before) {
                *title = format!("{before}, {}", more(one));
            }
        }
    }
    titles
}

fn of_run(run: &PhaseRun) -> Vec<NeighbourPoint> {
    let facts = run_facts(run.reader);
    let phases = run.reader.summary.phases.iter().filter_map(|phase| Some((phase, settings(phase)?)));
    phases
        .flat_map(|(phase, settings)| {
            let all: Conditions = facts.clone().into_iter().chain(settings).collect();
            let neighbours = phase.neighbours.iter();
            neighbours.map(|(name, neighbour)| reached(run, &all, phase, name, neighbour)).collect::<Vec<_>>()
        })
        .collect()
}

/// The settings of a phase; nothing where instances of one neighbour differ, as while a staggered experiment changes them
/// one by one: such phases lie between those to be compared.
fn settings(phase: &PhaseSummary) -> Option<Conditions> {
    let settings = phase.settings.iter().map(|(name, value)| (name.clone(), text::plain(value))).collect();
    let settings = of_all_instances(settings);
    of_several_instances(settings.keys().map(String::as_str)).is_empty().then_some(settings)
}

fn reached(
    run: &PhaseRun,
    all: &Conditions,
    phase: &PhaseSummary,
    name: &str,
    neighbour: &NeighbourSummary,
) -> NeighbourPoint {
    let performance = &neighbour.performance;
    let interval = (performance.mean, performance.ci_low, performance.ci_high);
    let mut under: Conditions = all
        .iter()
        .filter(|(setting, _)| is_of(setting, name))
        .map(|(setting, value)| (short(setting).to_owned(), value.clone()))
        .collect();
    under.insert(OTHERS.to_owned(), others(run.reader, &phase.id, name));
    under.insert("neighbour".to_owned(), name.to_owned());
    let (value, low, high) = interval;
    NeighbourPoint {
        run: run.name.clone(),
        neighbour: name.to_owned(),
        unit: performance.unit.clone(),
        text: match &performance.reason {
            Some(reason) if value.is_none() => format!("{}: {reason}", text::NOT_MEASURED),
            _ => format!("{} {}", describe(run, phase, interval), performance.unit),
        },
        point: PhasePoint {
            run: under,
            phase: Conditions::new(),
            id: phase.id.clone(),
            value,
            low,
            high,
            gap: String::new(),
        },
    }
}

/// Whether a setting is the neighbour's own, or that of all instances of it (`n` of `n1`), or a fact of the run.
fn is_of(setting: &str, neighbour: &str) -> bool {
    setting.split_once('.').is_none_or(|(workload, _)| workload == neighbour || workload == instances_of(neighbour))
}

/// Who else runs in a phase: `nobody`, or the names.
fn others(reader: &RecordingReader, phase: &str, name: &str) -> String {
    let running = reader.recording.plan.phases.iter().find(|planned| planned.id == phase).map(|phase| &phase.running);
    let others: Vec<&str> = running.into_iter().flatten().map(String::as_str).filter(|other| *other != name).collect();
    if others.is_empty() { "nobody".to_owned() } else { others.join(", ") }
}

/// The conditions across, of lines, and of panels.
struct Directions {
    x: Axis,
    line: Option<Axis>,
    rest: Vec<String>,
}

impl Directions {
    fn of(points: &[PhasePoint]) -> Self {
        let settings = || varying(points).into_iter().filter(|axis| axis.name != PHASE && axis.name != OTHERS);
        let is_amount = |axis: &Axis| axis.values.iter().all(|value| value.is_empty() || amount(value).is_some());
        let across = settings().filter(is_amount).max_by_key(|axis| (axis.name == ACROSS, axis.values.len()));
        let x = across.unwrap_or_else(|| axis(points, PHASE));
        let line = settings().filter(|axis| axis.name != x.name);
        let line = line.filter(is_amount).max_by_key(|axis| (axis.name == LINES, axis.values.len()));
        let is_rest =
            |name: &String| *name != x.name && *name != PHASE && line.as_ref().is_none_or(|line| line.name != *name);
        let rest = varying(points).into_iter().map(|axis| axis.name).filter(is_rest).collect();
        Self { x, line, rest }
    }

    fn panel(&self, reached: &NeighbourPoint) -> String {
        let point = &reached.point;
        let condition = |name: &String| match (name.as_str(), point.condition(name)) {
            ("neighbour", _) => None,
            (_, "") => None,
            (name, value) => Some(format!("{name} {value}")),
        };
        let rest: String = self.rest.iter().filter_map(condition).map(|text| format!(", {text}")).collect();
        let line = self.line.as_ref().map_or_else(String::new, |line| format!(", a line for each {}", line.name));
        format!("{} ({}){rest}; by {}{line}", reached.neighbour, reached.unit, self.x.name)
    }

    /// Its place in its panel: across, and on which line.
    fn place(&self, reached: &NeighbourPoint) -> (String, String) {
        let under = |axis: &Axis| reached.point.condition(&axis.name).to_owned();
        (under(&self.x), self.line.as_ref().map_or_else(String::new, under))
    }

    fn row(&self, reached: &NeighbourPoint, panel: String, panel_order: usize) -> ThroughputPoint {
        let point = &reached.point;
        let place = |axis: &Axis| {
            let value = point.condition(&axis.name);
            (value.to_owned(), axis.values.iter().position(|known| known == value).unwrap_or(0))
        };
        let (x, x_order) = place(&self.x);
        let (line, line_order) = self.line.as_ref().map_or_else(
            || (reached.neighbour.clone(), 0),
            |axis| {
                let (value, order) = place(axis);
                (format!("{} {value}", axis.name), order)
            },
        );
        ThroughputPoint {
            panel,
            panel_order,
            neighbour: reached.neighbour.clone(),
            phase: point.id.clone(),
            x_name: self.x.name.clone(),
            x,
            x_order,
            line,
            line_order,
            value: point.value,
            low: point.low,
            high: point.high,
            text: reached.text.clone(),
        }
    }
}
