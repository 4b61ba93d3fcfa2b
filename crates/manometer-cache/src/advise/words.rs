//! Numbers as people read them.

/// Bytes in the unit that keeps the number short.
pub(super) fn bytes(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.into_iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((unit, shift)) => format!("{} {unit}", three(bytes as f64 / (1_u64 << shift) as f64)),
        None => format!("{bytes} B"),
    }
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Three significant digits, of whole numbers all.
pub(super) fn three(value: f64) -> String {
    let magnitude = value.abs();
    let decimals = match magnitude {
        0.0 => 0,
        _ => (2.0 - magnitude.log10().floor()).clamp(0.0, 9.0) as usize,
    };
    format!("{}{magnitude:.decimals$}", if value < 0.0 { "−" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0, 1023, 1536, 10 << 30].map(bytes), ["0 B", "1023 B", "1.50 KiB", "10.0 GiB"]);
        assert_eq!([0.0545, -0.5, 4321.0, 0.0].map(three), ["0.0545", "−0.500", "4321", "0"]);
        assert_eq!(percent(0.1234), "12.3 %");
    }
}
