//! The columns of the series of a workload, and of all series of a recording.

use manometer_measure::Column;
use manometer_measure::host;
use manometer_measure::series::SeriesDescription;
use manometer_target::engine::{self, ENGINES};
use manometer_target::file::IoEngine;
use serde_json::{Map, Value};

/// The columns of each operation.
const OF_OPERATION: [(&str, &str, &str); 4] = [
    ("requests", "", "Requests completed in the sample interval."),
    ("bytes", "B", "Bytes of keys and values, or bytes of files read or written."),
    ("retries", "", "Retries of failed attempts."),
    ("missing", "", "Requested records that do not exist."),
];

/// The columns of a workload with `operations`.
pub fn of_workload(operations: &[String]) -> Vec<Column> {
    let mut columns = vec![Column::new("length", "s").meaning("The length of the sample interval.")];
    for operation in operations {
        let column = |(name, unit, meaning): (&str, &str, &str)| {
            Column::new(format!("{operation}.{name}"), unit).meaning(meaning)
        };
        columns.extend(OF_OPERATION.map(column));
    }
    columns.push(Column::new("dropped", "").meaning("Requests of an open loop dropped because the queue was full."));
    columns
}

/// The column `name` of the state of a workload that reported `facts` when it was ready.
pub fn of_state(name: &str, unit: &str, facts: &Map<String, Value>) -> Column {
    let column = Column::new(name, unit);
    let engine = facts.get("engine").and_then(Value::as_str);
    let of_engine = engine.and_then(|engine| Some((engine, engine::find(engine).ok()?.column_meaning(name)?)));
    match of_engine.or_else(|| of_io_engine(name, facts)) {
        Some((engine, meaning)) => column.meaning(meaning).from(engine),
        None if facts.contains_key("parser") => column.meaning("As the program reports it.").from("its output"),
        None => column,
    }
}

/// The I/O engine that reports the column `name`, and its meaning.
fn of_io_engine(name: &str, facts: &Map<String, Value>) -> Option<(&'static str, &'static str)> {
    let engine = facts.get("io_engine")?.as_str()?;
    let engine = IoEngine::ALL.into_iter().find(|known| known.name() == engine)?;
    let (_, _, meaning) = engine.state().iter().find(|(column, _, _)| *column == name)?;
    Some((engine.name(), meaning))
}

/// All series of a recording.
pub fn series() -> Vec<SeriesDescription> {
    let operations = ["<operation>".to_owned()];
    let mut all = vec![SeriesDescription::new("<workload>", "The requests of a workload.", of_workload(&operations))];
    all.extend(ENGINES.iter().filter(|info| !info.state.is_empty()).map(|info| {
        let columns = info.state.iter().map(|(name, unit, meaning)| Column::new(*name, *unit).meaning(*meaning));
        let columns = columns.map(|column| column.from(info.name)).collect();
        SeriesDescription::new(
            format!("<workload>.engine ({})", info.name),
            format!("The state of {}, as it reports it.", info.name),
            columns,
        )
    }));
    all.extend(host::series());
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_state_is_explained_by_the_engine_that_reports_it() {
        let facts = |facts: Value| facts.as_object().unwrap().clone();
        let known = of_state("level0_bytes", "B", &facts(json!({"engine": "rocksdb"})));
        assert_eq!((known.meaning.as_str(), known.from.as_str()), ("Size of the tables in level N.", "rocksdb"));
        let mapped = of_state("major_faults", "faults", &facts(json!({"io_engine": "mmap"})));
        assert_eq!(
            (mapped.meaning.as_str(), mapped.from.as_str()),
            ("Those of them that waited for the device.", "mmap")
        );
        assert_eq!(of_state("p99_us", "us", &facts(json!({"parser": "ycsb"}))).meaning, "As the program reports it.");
        assert_eq!(of_state("new", "B", &facts(json!({"engine": "rocksdb"}))), Column::new("new", "B"));
    }
}
