//! A chart's data as the page holds it: by column, with equal neighbours written once.

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Number, Value, json};

/// Significant decimal digits of every number in a chart's data; the recording has them all.
const SIGNIFICANT_DIGITS: usize = 6;

/// The rows of one chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Table {
    rows: Vec<Map<String, Value>>,
}

impl Table {
    /// The table of `rows`, each a struct of plain fields.
    pub(crate) fn of<T: Serialize>(rows: &[T]) -> Self {
        let fields = |row: &T| match serde_json::to_value(row) {
            Ok(Value::Object(fields)) => Some(fields.into_iter().map(|(name, value)| (name, rounded(value))).collect()),
            _ => None,
        };
        Self { rows: rows.iter().filter_map(fields).collect() }
    }

    /// Whether there is nothing to draw.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows, each by the names of its columns.
    pub(crate) fn into_rows(self) -> Vec<Map<String, Value>> {
        self.rows
    }

    /// The columns, packed.
    fn columns(&self) -> Map<String, Value> {
        let names = self.rows.first().into_iter().flat_map(Map::keys);
        let column =
            |name: &String| self.rows.iter().map(|row| row.get(name).unwrap_or(&Value::Null)).collect::<Vec<_>>();
        names.map(|name| (name.clone(), pack(column(name)))).collect()
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = serializer.serialize_struct("Table", 2)?;
        table.serialize_field("rows", &self.rows.len())?;
        table.serialize_field("columns", &self.columns())?;
        table.end()
    }
}

fn rounded(value: Value) -> Value {
    let Value::Number(number) = &value else { return value };
    if number.is_u64() || number.is_i64() {
        return value;
    }
    let text = number.as_f64().map(|number| format!("{number:.*e}", SIGNIFICANT_DIGITS - 1));
    let Some(short) = text.and_then(|text| text.parse::<f64>().ok()) else { return value };
    // A whole number is written without its `.0`.
    if short.fract() == 0.0 && short.abs() < 1e15 {
        return Value::from(short as i64);
    }
    Number::from_f64(short).map_or(value, Value::Number)
}

/// `{"values":[…]}`, or `{"runs":[[value, times], …]}` where that is less than half as long.
fn pack(values: Vec<&Value>) -> Value {
    let mut runs: Vec<(&Value, usize)> = Vec::new();
    for value in values.iter().copied() {
        match runs.last_mut() {
            Some((last, times)) if *last == value => *times += 1,
            _ => runs.push((value, 1)),
        }
    }
    if runs.len() * 2 < values.len() { json!({ "runs": runs }) } else { json!({ "values": values }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Sample {
        series: &'static str,
        value: Option<f64>,
    }

    #[test]
    fn equal_neighbours_are_written_once_and_gaps_stay_gaps() {
        let row = |value| Sample { series: "a", value };
        let table = Table::of(&[row(Some(1.0)), row(None), row(Some(2.5)), row(Some(1_234_567.8))]);
        let expected = json!({"rows": 4, "columns": {
            "series": {"runs": [["a", 4]]},
            "value": {"values": [1, null, 2.5, 1_234_570]},
        }});
        assert_eq!(serde_json::to_value(&table).unwrap(), expected);
    }

    #[test]
    fn what_is_no_number_is_a_gap() {
        let table = Table::of(&[Sample { series: "a", value: Some(f64::NAN) }]);
        assert_eq!(serde_json::to_value(&table).unwrap()["columns"]["value"], json!({"values": [null]}));
    }
}
