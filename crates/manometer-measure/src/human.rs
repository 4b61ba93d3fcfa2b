//! Numbers for people, in units that keep them short.

const BYTE_UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const SIGNIFICANT_DIGITS: f64 = 3.0;

/// Bytes with three significant digits: `1.5 KiB`, `932 GiB`.
pub fn bytes(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, 0);
    while value.round() >= 1024.0 && unit + 1 < BYTE_UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let text = significant(value);
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{short} {}", BYTE_UNITS[unit])
}

/// Bytes per second: `1.5 MiB/s`.
pub fn bytes_per_s(rate: f64) -> String {
    format!("{}/s", bytes(rate.round() as u64))
}

/// A number with three significant digits; whole numbers keep all of theirs.
pub fn significant(value: f64) -> String {
    let magnitude = value.abs();
    let decimals = match magnitude {
        0.0 => 0,
        _ => (SIGNIFICANT_DIGITS - 1.0 - magnitude.log10().floor()).clamp(0.0, 9.0) as usize,
    };
    format!("{}{magnitude:.decimals$}", if value < 0.0 { "−" } else { "" })
}

/// A ratio in percent: `12.3 %`.
pub fn percent(ratio: f64) -> String {
    format!("{:.1} %", 100.0 * ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_the_unit_that_is_shortest() {
        let texts = [0, 1023, 1536, 4096, 1_500_000_000, 1_000_204_886_016].map(bytes);
        assert_eq!(texts, ["0 B", "1023 B", "1.5 KiB", "4 KiB", "1.4 GiB", "932 GiB"]);
        assert_eq!([(1 << 20) - 1, 100 << 10].map(bytes), ["1 MiB", "100 KiB"], "rounding changes the unit");
        assert_eq!(bytes_per_s(1_572_864.0), "1.5 MiB/s");
    }

    #[test]
    fn numbers_have_three_significant_digits() {
        assert_eq!([0.0545, -0.5, 12.34, 4321.0, 0.0].map(significant), ["0.0545", "−0.500", "12.3", "4321", "0"]);
        assert_eq!(percent(0.1234), "12.3 %");
    }
}
