//! Numbers as people read them: three or four digits, thousands apart, the unit behind.

use manometer_measure::plan::Settings;
use serde_json::Value;

/// What stands where nothing was measured.
pub(crate) const NOT_MEASURED: &str = "not measured";

/// A number to about four significant digits, whole from a thousand up, thousands apart.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size == 0.0 || size >= 1000.0 => 0,
        _ if size >= 100.0 => 1,
        _ if size >= 10.0 => 2,
        _ if size >= 0.1 => 3,
        _ => 4,
    };
    if size > 0.0 && size < 0.001 {
        return format!("{value:.2e}");
    }
    let text = grouped(&format!("{value:.decimals$}"));
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// A pressure: two decimals, and never a negative zero.
pub(crate) fn pressure(value: f64) -> String {
    let text = format!("{value:.2}");
    if text == "-0.00" { "0.00".to_owned() } else { text.replace('-', "−") }
}

/// A whole number, thousands apart.
pub(crate) fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// `1 sample`, `12 samples`.
pub(crate) fn counted(value: u64, what: &str) -> String {
    let plural = if value == 1 { "" } else { "s" };
    format!("{} {what}{plural}", count(value))
}

/// A latency given in microseconds, in the unit that suits it.
pub(crate) fn latency(us: f64) -> String {
    match us.abs() {
        size if size >= 1e6 => format!("{} s", number(us / 1e6)),
        size if size >= 1e3 => format!("{} ms", number(us / 1e3)),
        _ => format!("{} µs", number(us)),
    }
}

/// A duration given in seconds.
pub(crate) fn seconds(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..120 => format!("{} s", number(seconds)),
        120..7200 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// `writer.iodepth = 16, writer.dsync = true`.
pub(crate) fn settings(settings: &Settings) -> String {
    let words: Vec<String> = settings.iter().map(|(name, value)| format!("{name} = {}", plain(value))).collect();
    words.join(", ")
}

/// `sentence` with its first letter in upper case.
pub(crate) fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A value as people write it: texts without quotes.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Sets a narrow space between every three digits before the decimal point.
fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("−", digits));
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, part)| (whole, Some(part)));
    let mut grouped = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    if let Some(fraction) = fraction {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_digits_that_matter() {
        let cases = [(0.0, "0"), (81_234.5, "81\u{202f}234"), (123.45, "123.5"), (12.0, "12"), (0.0314, "0.0314")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(number(-1500.0), "−1\u{202f}500");
        assert_eq!(number(0.000_012), "1.20e-5");
    }

    #[test]
    fn units_suit_their_numbers() {
        assert_eq!(latency(85.0), "85 µs");
        assert_eq!(latency(1850.0), "1.85 ms");
        assert_eq!(latency(2.5e6), "2.5 s");
        assert_eq!(seconds(10.0), "10 s");
        assert_eq!(seconds(900.0), "15 min 0 s");
        assert_eq!(seconds(8000.0), "2 h 13 min");
        assert_eq!(counted(1, "sample"), "1 sample");
    }

    #[test]
    fn a_pressure_has_two_decimals() {
        assert_eq!(pressure(0.694), "0.69");
        assert_eq!(pressure(-0.001), "0.00");
        assert_eq!(pressure(-0.42), "−0.42");
    }
}
