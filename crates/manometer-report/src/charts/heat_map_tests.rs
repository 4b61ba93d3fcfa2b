//! Which directions heat maps take, and what becomes of gaps and intervals.

use super::*;
use crate::charts::phase_points::Conditions;

/// A point under `run` and `phase` settings written as `name value`.
fn point(run: &[&str], phase: &[&str], id: &str, value: Option<f64>) -> PhasePoint {
    let conditions = |texts: &[&str]| -> Conditions {
        let pairs = texts.iter().map(|text| text.split_once(' ').unwrap());
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    PhasePoint {
        run: conditions(run),
        phase: conditions(phase),
        id: id.to_owned(),
        value,
        low: value.map(|value| value - 0.1),
        high: value.map(|value| value + 0.1),
        gap: "its worker died".to_owned(),
    }
}

fn cells(points: &[PhasePoint]) -> Vec<Cell> {
    let mut heat = HeatMap::new();
    heat.add("", points, None);
    heat.finish().0
}

#[test]
fn two_settings_make_a_plane_and_the_rest_panels() {
    let mut points = Vec::new();
    for device in ["device a", "device b"] {
        for ratio in ["io.write_ratio 0", "io.write_ratio 0.5", "io.write_ratio 1"] {
            for (number, depth) in ["io.iodepth 1", "io.iodepth 16"].into_iter().enumerate() {
                points.push(point(&[device, ratio], &[depth], &format!("w{}", number + 1), Some(0.2)));
            }
        }
    }
    let cells = cells(&points);
    assert_eq!(cells.len(), 12);
    assert!(cells.iter().all(|cell| cell.x_name == "io.iodepth" && cell.y_name == "io.write_ratio"), "{cells:?}");
    let mut panels: Vec<&str> = cells.iter().map(|cell| cell.panel.as_str()).collect();
    panels.dedup();
    assert_eq!(panels[0], "device a\nio.iodepth (x axis), io.write_ratio (y axis)");
    assert_eq!(panels.len(), 2);
    assert_eq!((cells[3].x.as_str(), cells[3].x_order, cells[3].y.as_str(), cells[3].y_order), ("16", 1, "0.5", 1));
}

#[test]
fn phases_in_which_many_things_change_are_a_direction_of_their_own() {
    let phases = [
        ["n1.write_ratio 0", "n2.write_ratio 0"],
        ["n1.write_ratio 0.5", "n2.write_ratio 0"],
        ["n1.write_ratio 0.5", "n2.write_ratio 0.5"],
    ];
    let mut points = Vec::new();
    for size in ["n.block_size 4KiB", "n.block_size 128KiB"] {
        for (number, phase) in phases.iter().enumerate() {
            points.push(point(&[size], phase, &format!("w{}", number + 1), Some(number as f64 / 4.0)));
        }
    }
    let cells = cells(&points);
    assert!(cells.iter().all(|cell| cell.x_name == PHASE && cell.y_name == "n.block_size"), "{cells:?}");
    assert_eq!(cells.iter().map(|cell| cell.panel_order).collect::<BTreeSet<_>>().len(), 1);
}

#[test]
fn a_gap_has_its_reason_and_a_number_its_interval() {
    let points = [
        point(&[], &["io.iodepth 1"], "w1", Some(-0.4)),
        point(&[], &["io.iodepth 2"], "w2", None),
        point(&[], &["io.iodepth 4"], "w3", Some(0.05)),
    ];
    let cells = cells(&points);
    assert_eq!(cells[0].text, "−0.40 (−0.50 to −0.30)");
    assert_eq!((cells[0].shade, cells[0].is_sure), (Some(-1.0), true));
    assert_eq!((cells[1].value, cells[1].text.as_str()), (None, "not measured: its worker died"));
    assert!(!cells[2].is_sure, "its interval holds 0");
    assert_eq!(cells[0].y_name, "", "one setting alone has one direction");
}

#[test]
fn the_alt_text_has_the_extremes() {
    let points = [point(&[], &["io.iodepth 1"], "w1", Some(0.1)), point(&[], &["io.iodepth 2"], "w2", Some(0.7))];
    let mut heat = HeatMap::new();
    heat.add("b − a", &points, None);
    let (_, words, notes) = heat.finish();
    assert_eq!(words[0], "largest 0.70 (0.60 to 0.80) at io.iodepth 2, b − a");
    assert!(notes.is_empty());
}

#[test]
fn points_that_differ_by_nothing_make_no_map() {
    assert!(cells(&[point(&[], &[], "w1", Some(0.5))]).is_empty());
    assert!(cells(&[]).is_empty());
}
