//! Parses the lines of the log: time, level, text and task.

use chrono::NaiveDateTime;

/// A line that starts with a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogLine<'a> {
    /// Milliseconds since 1970 on the host's local clock, read as UTC.
    pub local_ms: i64,
    pub level: &'a str,
    pub text: &'a str,
}

/// Parses `[2020-10-23 11:12:06.016] [info] text`; `None` for continuation lines.
pub(super) fn log_line(line: &str) -> Option<LogLine<'_>> {
    let (time, rest) = line.strip_prefix('[')?.split_once("] [")?;
    let (level, text) = rest.split_once("] ")?;
    let time = NaiveDateTime::parse_from_str(time, "%Y-%m-%d %H:%M:%S%.f").ok()?;
    Some(LogLine { local_ms: time.and_utc().timestamp_millis(), level, text })
}

/// A task's output in a line of the log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TaskOutput<'a> {
    /// A line printed by its program.
    Output(&'a str),
    /// Statistics as JSON.
    Stats(&'a str),
}

/// A task: its program and its number.
pub(super) type Task<'a> = (&'a str, usize);

/// `Task ycsb[0], stdout: …`, `Task iostat, STATS: …`.
pub(super) fn task_output(text: &str) -> Option<(Task<'_>, TaskOutput<'_>)> {
    let (task, rest) = text.strip_prefix("Task ")?.split_once(", ")?;
    let task = match task.strip_suffix(']').and_then(|task| task.split_once('[')) {
        Some((program, number)) => (program, number.parse().ok()?),
        None => (task, 0),
    };
    let output = match rest.split_once(": ")? {
        ("stdout", output) => TaskOutput::Output(output.trim_end()),
        ("STATS", json) => TaskOutput::Stats(json),
        _ => return None,
    };
    Some((task, output))
}

/// A number that may have a decimal comma, by the host's locale.
pub(super) fn number(text: &str) -> Option<f64> {
    text.trim().replacen(',', ".", 1).parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_tasks_and_numbers_are_parsed() {
        let line =
            log_line("[1970-01-01 00:00:01.016] [info] Task access_time3[2], stdout: [info] set wait=true ").unwrap();
        assert_eq!((line.local_ms, line.level), (1016, "info"));
        assert_eq!(task_output(line.text), Some((("access_time3", 2), TaskOutput::Output("[info] set wait=true"))));
        let stats = "Task iostat, STATS: { \"time\":\"5\" }";
        assert_eq!(task_output(stats), Some((("iostat", 0), TaskOutput::Stats("{ \"time\":\"5\" }"))));
        assert_eq!(log_line("  --duration=90 \\"), None);
        assert_eq!(log_line("[2020-13-45 99:00:00] [info] x"), None);
        assert_eq!(task_output("Task performancemonitor, shift report time: -322"), None);
        assert_eq!((number("32807,4"), number("45.06"), number("n/a")), (Some(32807.4), Some(45.06), None));
    }
}
