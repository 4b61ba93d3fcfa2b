//! The changes that the script of a `db_bench` of Storiks' author reports (`--workloadscript`).

use serde_json::Value;

use super::log::number;

/// The setting and its new value in `workloadscript: command executed: writeratio = 0.1`, by the program's own name.
pub(super) fn change(output: &str) -> Option<(&str, Value)> {
    let (name, value) = output.strip_prefix("workloadscript: command executed: ")?.split_once('=')?;
    let value = value.trim();
    Some((name.trim(), number(value).map_or_else(|| Value::from(value), Value::from)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executed_command_is_a_change() {
        let executed = |text: &str| change(text).map(|(name, value)| (name.to_owned(), value));
        let expected = |value: Value| Some(("writeratio".to_owned(), value));
        assert_eq!(executed("workloadscript: command executed: writeratio = 0.1"), expected(0.1.into()));
        assert_eq!(executed("workloadscript: command executed: writeratio=high"), expected("high".into()));
        assert_eq!(executed("workloadscript: command executed: stop"), None);
        assert_eq!(executed("... thread 1: (1,2) ops and (1.0,1.0) ops/second in (1.0,2.0) seconds"), None);
    }
}
