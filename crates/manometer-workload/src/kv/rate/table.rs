//! Rates from a table: comma-separated values whose first line names the columns.

use std::path::Path;

use manometer_measure::regular_file;

use crate::kv::error::KvError;
use crate::settings_file::MOST_FILE_BYTES;

/// The column of times, in seconds.
const TIME: &str = "t_s";
/// The most lines of a table; more is a mistake.
const LINES_MAX: usize = 40_000_000;

/// The times (s) and rates of `file`; each rate lasts until the next time.
pub(super) fn read_steps(file: &Path, column: &str) -> Result<Vec<(f64, f64)>, KvError> {
    let wrong = |line: usize, reason: String| KvError::BadTable { place: format!("{}:{line}", file.display()), reason };
    let text = regular_file::read_text(file, MOST_FILE_BYTES).map_err(|error| wrong(0, error.to_string()))?;
    parse(&text, column).map_err(|(line, reason)| wrong(line, reason))
}

/// Parses a table; an error has its line, from 1.
fn parse(text: &str, column: &str) -> Result<Vec<(f64, f64)>, (usize, String)> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()).take(LINES_MAX);
    let (first, header) = lines.next().ok_or((1, "the table is empty".to_owned()))?;
    let place = |name: &str| {
        let found = cells(header).position(|cell| cell == name);
        found.ok_or_else(|| {
            (first, format!("there is no column `{name}`, but `{}`", cells(header).collect::<Vec<_>>().join("`, `")))
        })
    };
    let (times, rates) = (place(TIME)?, place(column)?);
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for (number, line) in lines {
        let value = |place: usize, name: &str| {
            let cell = cells(line).nth(place).unwrap_or_default();
            let value = cell.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
            value.ok_or_else(|| (number, format!("`{name}` is `{cell}`: write a number from 0")))
        };
        let step = (value(times, TIME)?, value(rates, column)?);
        if steps.last().is_some_and(|(before_s, _)| *before_s >= step.0) {
            return Err((number, format!("`{TIME}` is {}: times ascend", step.0)));
        }
        steps.push(step);
    }
    if steps.is_empty() { Err((first, "the table has no rows".to_owned())) } else { Ok(steps) }
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|cell| cell.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_read_beside_its_times() {
        let text = "day,\"t_s\",ops\nMon,0,10\n\nMon,0.5,20\r\nTue,7,0\n";
        assert_eq!(parse(text, "ops"), Ok(vec![(0.0, 10.0), (0.5, 20.0), (7.0, 0.0)]));
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, line, reason) in [
            ("", 1, "empty"),
            ("t_s,ops\n", 1, "no rows"),
            ("time,ops\n0,1\n", 1, "`t_s`"),
            ("t_s,rate\n0,1\n", 1, "`ops`, but `t_s`, `rate`"),
            ("t_s,ops\n0,1\n1,many\n", 3, "`many`"),
            ("t_s,ops\n0,1\n1\n", 3, "``"),
            ("t_s,ops\n1,1\n1,2\n", 3, "ascend"),
            ("t_s,ops\n0,-1\n", 2, "from 0"),
        ] {
            let error = parse(text, "ops").unwrap_err();
            assert!(error.0 == line && error.1.contains(reason), "{error:?}");
        }
        let missing = read_steps(Path::new("/nowhere/rates.csv"), "ops").unwrap_err();
        assert!(missing.to_string().contains("rates.csv"), "{missing}");
    }
}
