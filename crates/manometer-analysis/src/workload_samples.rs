//! The samples of a workload as the analysis takes them: intervals that do not overlap, with the counts of all operations.

use manometer_measure::Samples;
use manometer_measure::operation::is_background;

/// The part of an interval that may lie within the one before it. Programs report rates and lengths that are rounded, at
/// times that are not exact.
const OVERLAP_SHARE: f64 = 2.0 / 3.0;

/// The suffixes of the columns that count the work of an operation.
const COUNTS: [&str; 2] = [".requests", ".bytes"];

/// `samples` without the intervals that lie mostly within the one before them, and the number of those left out.
pub(crate) fn without_overlaps(samples: Samples) -> (Samples, usize) {
    let mut kept: Vec<usize> = Vec::new();
    for row in 0..samples.t_ns.len() {
        if kept.last().is_none_or(|last| !overlaps(&samples, *last, row)) {
            kept.push(row);
        }
    }
    match samples.t_ns.len() - kept.len() {
        0 => (samples, 0),
        left_out => (samples.rows(&kept), left_out),
    }
}

/// Whether the interval `row` lies mostly within `last`, the one before it.
fn overlaps(samples: &Samples, last: usize, row: usize) -> bool {
    let apart_s = samples.t_ns[row].saturating_sub(samples.t_ns[last]) as f64 / 1e9;
    let length_s = samples.column("length").and_then(|lengths| lengths[row]).filter(|length_s| length_s.is_finite());
    apart_s == 0.0 || length_s.is_some_and(|length_s| length_s - apart_s > OVERLAP_SHARE * length_s)
}

/// `samples` of an external program, whose reports list only the operations that had requests: a count that is null where
/// another one of its kind is not is 0.
pub(crate) fn with_unlisted_operations(mut samples: Samples) -> Samples {
    for suffix in COUNTS {
        let is_counted = |name: &str| name.strip_suffix(suffix).is_some_and(|operation| !is_background(operation));
        let counted: Vec<usize> =
            (0..samples.columns.len()).filter(|index| is_counted(&samples.columns[*index].name)).collect();
        for row in 0..samples.t_ns.len() {
            if counted.iter().any(|column| samples.values[*column][row].is_some()) {
                counted.iter().for_each(|column| _ = samples.values[*column][row].get_or_insert(0.0));
            }
        }
    }
    samples
}

#[cfg(test)]
mod tests {
    use manometer_measure::Column;

    use super::*;

    fn samples(ends_ms: &[u64], length_s: f64) -> Samples {
        Samples {
            t_ns: ends_ms.iter().map(|end_ms| end_ms * 1_000_000).collect(),
            columns: vec![Column::new("length", "s"), Column::new("read.requests", "")],
            values: vec![
                vec![Some(length_s); ends_ms.len()],
                ends_ms.iter().map(|end_ms| Some(*end_ms as f64)).collect(),
            ],
            truncated: false,
            damaged: false,
        }
    }

    fn left_out(ends_ms: &[u64], length_s: f64) -> (usize, usize) {
        let (kept, left_out) = without_overlaps(samples(ends_ms, length_s));
        assert!(kept.values.iter().all(|column| column.len() == kept.t_ns.len()));
        (kept.t_ns.len(), left_out)
    }

    #[test]
    fn intervals_that_are_there_twice_or_overlap_are_left_out() {
        assert_eq!(left_out(&[1_000, 1_000, 2_000, 2_000], 1.0), (2, 2));
        assert_eq!(left_out(&[1_000, 1_010, 2_000, 2_010], 1.0), (2, 2));
        assert_eq!(left_out(&[5_000, 6_000, 7_000], 5.0), (2, 1));
        assert_eq!(left_out(&[1_000, 1_900, 3_100, 3_900], 1.0), (4, 0), "reports that arrive late or early");
        assert_eq!(left_out(&[], 1.0), (0, 0));
    }

    #[test]
    fn an_operation_that_a_program_does_not_list_had_no_request() {
        let mut listed = samples(&[1_000, 2_000, 3_000], 1.0);
        listed.columns.extend(["update.requests", "background_merge.requests"].map(|name| Column::new(name, "")));
        listed.values.extend([vec![None, Some(5.0), None], vec![None; 3]]);
        listed.values[1][2] = None;
        let filled = with_unlisted_operations(listed);
        assert_eq!(filled.values[1], [Some(1_000.0), Some(2_000.0), None]);
        assert_eq!(filled.values[2], [Some(0.0), Some(5.0), None], "nothing was counted in the last interval");
        assert_eq!(filled.values[3], [None; 3]);
    }
}
