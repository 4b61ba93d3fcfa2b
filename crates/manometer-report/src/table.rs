//! A chart's data as the page holds it: by column, with equal neighbours written once.

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Number, Value, json};

/// Significant decimal digits of every number in a chart's data; the recording has them all.
const SIGNIFICANT_DIGITS: usize = 6;

/// The rows of one chart, by column.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Table {
    rows: usize,
    columns: Vec<(String, Vec<Value>)>,
}

impl Table {
    /// The table of `rows`, each a struct of plain fields. The first one names the columns.
    pub(crate) fn of<T: Serialize>(rows: &[T]) -> Self {
        let mut table = Self::default();
        for row in rows {
            if let Ok(Value::Object(fields)) = serde_json::to_value(row) {
                table.push(fields);
            }
        }
        table
    }

    fn push(&mut self, mut fields: Map<String, Value>) {
        if self.rows == 0 {
            self.columns = fields.keys().map(|name| (name.clone(), Vec::new())).collect();
        }
        self.rows += 1;
        let is_alike = fields.keys().eq(self.columns.iter().map(|(name, _)| name));
        if is_alike {
            // Nearly all are: no name is looked up.
            let pairs = self.columns.iter_mut().zip(fields);
            pairs.for_each(|((_, column), (_, value))| column.push(rounded(value)));
        } else {
            for (name, column) in &mut self.columns {
                column.push(fields.get_mut(name).map_or(Value::Null, |value| rounded(value.take())));
            }
        }
    }

    /// Whether there is nothing to draw.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The rows, each by the names of its columns.
    pub(crate) fn into_rows(self) -> Vec<Map<String, Value>> {
        let mut rows = vec![Map::new(); self.rows];
        for (name, column) in self.columns {
            for (row, value) in rows.iter_mut().zip(column) {
                row.insert(name.clone(), value);
            }
        }
        rows
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = serializer.serialize_struct("Table", 2)?;
        let columns: Map<String, Value> =
            self.columns.iter().map(|(name, values)| (name.clone(), pack(values))).collect();
        table.serialize_field("rows", &self.rows)?;
        table.serialize_field("columns", &columns)?;
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
fn pack(values: &[Value]) -> Value {
    let mut runs: Vec<(&Value, usize)> = Vec::new();
    for value in values {
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

    #[derive(Serialize)]
    struct Sparse {
        first: u8,
        #[serde(skip_serializing_if = "Option::is_none")]
        second: Option<u8>,
    }

    #[test]
    fn a_row_without_a_field_has_a_gap_there() {
        let rows = [(1, Some(2)), (3, None), (5, Some(6))].map(|(first, second)| Sparse { first, second });
        let table = Table::of(&rows);
        let expected =
            json!({"rows": 3, "columns": {"first": {"values": [1, 3, 5]}, "second": {"values": [2, null, 6]}}});
        assert_eq!(serde_json::to_value(&table).unwrap(), expected);
        assert_eq!(table.into_rows()[1], *json!({"first": 3, "second": null}).as_object().unwrap());
    }

    #[test]
    fn what_is_no_number_is_a_gap() {
        let table = Table::of(&[Sample { series: "a", value: Some(f64::NAN) }]);
        assert_eq!(serde_json::to_value(&table).unwrap()["columns"]["value"], json!({"values": [null]}));
    }
}
