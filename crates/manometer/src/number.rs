//! Numbers as text.

/// A duration in whole seconds: `1h 30m`.
pub fn duration(seconds: f64) -> String {
    humantime::format_duration(std::time::Duration::from_secs(seconds.round() as u64)).to_string()
}

/// A number with about three significant digits and separated thousands.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 100.0 {
        let digits = format!("{:.0}", magnitude);
        let groups: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or_default()).collect();
        format!("{}{}", if value < 0.0 { "−" } else { "" }, groups.join(" "))
    } else if magnitude >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// Three significant digits; whole numbers have all.
pub fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 100.0 || value == 0.0 {
        return number(value);
    }
    let decimals = (2.0 - magnitude.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{magnitude:.decimals$}");
    format!("{}{text}", if value < 0.0 { "−" } else { "" })
}

/// A count, exact below a hundred.
pub fn count(count: f64) -> String {
    if count < 100.0 { format!("{count:.0}") } else { number(count) }
}

/// A latency in microseconds, in a suitable unit.
pub fn latency(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{:.2} s", us / 1e6),
        us if us >= 1e3 => format!("{:.2} ms", us / 1e3),
        us => format!("{us:.0} µs"),
    }
}

/// The mark of a value that was not measured.
pub fn gap() -> String {
    "–".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_readable() {
        let shown = [1_234_567.8, 123.4, 12.34, 1.234, 0.0, -4321.0].map(number);
        assert_eq!(shown, ["1 234 568", "123", "12.3", "1.23", "0.00", "−4 321"]);
    }

    #[test]
    fn small_numbers_keep_three_digits() {
        let shown = [0.0545, 12.34, -0.5, 4321.0, 0.0, 0.000123].map(significant);
        assert_eq!(shown, ["0.0545", "12.3", "−0.500", "4 321", "0.00", "0.000123"]);
    }
}
