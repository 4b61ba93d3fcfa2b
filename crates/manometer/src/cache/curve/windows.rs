//! The windows of a working set, as people write and read them.

use manometer_cache::CacheError;
use manometer_cache::curve::{WindowLengths, WorkingSet, WorkingSetSize, WorkingSetWindow};
use manometer_measure::human::bytes;
use serde_json::{Map, Value, json};

use super::CurveArgs;
use crate::cache::capacity::count;
use crate::table::{number, table};

/// Nanoseconds in a second.
pub(super) const SECOND_NS: f64 = 1e9;

/// The windows that were written; many where none were.
pub(super) fn read(texts: &[String]) -> Result<WindowLengths, CacheError> {
    if texts.is_empty() {
        return Ok(WindowLengths::default());
    }
    let mut windows = WindowLengths { requests: Vec::new(), times_ns: Vec::new() };
    for text in texts {
        let wrong = || {
            let wanted = "write a number of requests, or a time with its unit, such as 10min; above zero";
            CacheError::Invalid(format!("`{text}` is no window: {wanted}"))
        };
        match text.parse::<u64>() {
            Ok(0) => return Err(wrong()),
            Ok(requests) => windows.requests.push(requests),
            Err(_) => {
                let time = humantime::parse_duration(text).map_err(|_| wrong())?;
                let time_ns = u64::try_from(time.as_nanos()).ok().filter(|time_ns| *time_ns > 0);
                windows.times_ns.push(time_ns.ok_or_else(wrong)?);
            }
        }
    }
    Ok(windows)
}

/// The working set, for machines.
pub(super) fn document(args: &CurveArgs, set: &WorkingSet) -> Value {
    let all = |name: &str, length: fn(u64) -> Value, windows: &[WorkingSetWindow]| -> Value {
        let one = |window: &WorkingSetWindow| {
            let mut fields = Map::from_iter([(name.to_owned(), length(window.length))]);
            let bytes = args.unit.size_aware.then_some(("bytes", window.bytes));
            for (what, WorkingSetSize { mean, error }) in std::iter::once(("keys", window.keys)).chain(bytes) {
                fields.insert(what.to_owned(), json!(mean));
                fields.extend(error.map(|error| (format!("{what}_error"), json!(error))));
            }
            Value::Object(fields)
        };
        windows.iter().map(one).collect()
    };
    json!({
        "over_requests": all("requests", |length| json!(length), &set.over_requests),
        "over_time": set.over_time.as_ref().map(|windows| all("seconds", |length| json!(length as f64 / SECOND_NS), windows)),
    })
}

/// The working set, for people.
pub(super) fn text(args: &CurveArgs, set: &WorkingSet) -> String {
    let is_shown = |window: &&WorkingSetWindow| !args.window.is_empty() || window.length.is_power_of_two();
    let mut head = vec!["window", "keys", "±"];
    head.extend(args.unit.size_aware.then_some(["bytes", "±"]).into_iter().flatten());
    let mut table = table(&head, 0);
    let mut row = |length: String, window: &WorkingSetWindow| {
        let mut row = vec![length];
        row.extend([number(window.keys.mean), window.keys.error.map(number).unwrap_or_default()]);
        if args.unit.size_aware {
            let told = |amount: f64| bytes(amount.round() as u64);
            row.extend([told(window.bytes.mean), window.bytes.error.map(told).unwrap_or_default()]);
        }
        table.add_row(row);
    };
    for window in set.over_requests.iter().filter(is_shown) {
        row(format!("{} requests", count(window.length)), window);
    }
    for window in set.over_time.iter().flatten() {
        row(humantime::format_duration(std::time::Duration::from_nanos(window.length)).to_string(), window);
    }
    let none = set.over_time.is_none().then_some("\nno windows in time: requests without a time");
    format!("working set, what windows of the trace ask for on average:\n{table}{}", none.unwrap_or_default())
}
