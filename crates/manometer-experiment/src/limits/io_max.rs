//! `io.max`: upper bounds of a workload's throughput and IOPS on the device.

use std::fmt;
use std::str::FromStr;

use manometer_measure::ByteSize;

use super::value::text_limit;

/// Upper bounds of a workload's I/O on the device. A bound that is not set is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IoMax {
    /// Bytes read per second.
    pub rbps: Option<u64>,
    /// Bytes written per second.
    pub wbps: Option<u64>,
    /// Reads per second.
    pub riops: Option<u64>,
    /// Writes per second.
    pub wiops: Option<u64>,
}

impl IoMax {
    const EXPECTED: &str =
        "an I/O limit: write one or more of `rbps=100MiB wbps=50MiB riops=1000 wiops=500`, or `max` for no limit";

    fn bounds(&self) -> [(&'static str, Option<u64>); 4] {
        [("rbps", self.rbps), ("wbps", self.wbps), ("riops", self.riops), ("wiops", self.wiops)]
    }

    /// All four bounds in the kernel's format.
    pub(crate) fn kernel_value(&self) -> String {
        let bound = |(name, bound): (&str, Option<u64>)| match bound {
            Some(bound) => format!("{name}={bound}"),
            None => format!("{name}=max"),
        };
        self.bounds().map(bound).join(" ")
    }

    /// Whether it limits writes.
    pub(crate) fn limits_writes(&self) -> bool {
        self.wbps.is_some() || self.wiops.is_some()
    }
}

impl FromStr for IoMax {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut limits = Self::default();
        if text.trim() == "max" {
            return Ok(limits);
        }
        let mut seen = Vec::new();
        for word in text.split_whitespace() {
            let (name, bound) = word.split_once('=').ok_or(())?;
            let number = |parse: fn(&str) -> Option<u64>| match bound {
                "max" => Ok(None),
                _ => parse(bound).filter(|bound| *bound > 0).map(Some).ok_or(()),
            };
            let bytes = |text: &str| Some(text.parse::<ByteSize>().ok()?.0);
            let requests = |text: &str| text.replace('_', "").parse().ok();
            match name {
                "rbps" => limits.rbps = number(bytes)?,
                "wbps" => limits.wbps = number(bytes)?,
                "riops" => limits.riops = number(requests)?,
                "wiops" => limits.wiops = number(requests)?,
                _ => return Err(()),
            }
            if seen.contains(&name) {
                return Err(());
            }
            seen.push(name);
        }
        if seen.is_empty() { Err(()) } else { Ok(limits) }
    }
}

impl fmt::Display for IoMax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |(name, bound): (&str, Option<u64>)| match name.ends_with("bps") {
            true => bound.map(|bytes| format!("{name}={}", ByteSize(bytes))),
            false => bound.map(|requests| format!("{name}={requests}")),
        };
        let set: Vec<String> = self.bounds().into_iter().filter_map(bound).collect();
        f.write_str(if set.is_empty() { "max" } else { "" })?;
        f.write_str(&set.join(" "))
    }
}

text_limit!(IoMax, "IoMax", "rbps=100MiB wiops=500");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_parsed_with_units_and_printed_in_the_kernels_format() {
        let max: IoMax = "rbps=100MiB  wiops=1_000 riops=max".parse().unwrap();
        assert_eq!(max.kernel_value(), "rbps=104857600 wbps=max riops=max wiops=1000");
        assert_eq!(max.to_string(), "rbps=100MiB wiops=1000");
        assert_eq!(max.to_string().parse(), Ok(max));
        assert_eq!("max".parse(), Ok(IoMax::default()));
        assert_eq!(IoMax::default().to_string(), "max");
    }

    #[test]
    fn invalid_limits_are_rejected() {
        for text in
            ["", "100MiB", "rbps", "rbps=", "rbps=0", "rbps=-1", "speed=1", "riops=1MiB", "rbps=1 rbps=2", "max rbps=1"]
        {
            assert_eq!(text.parse::<IoMax>(), Err(()), "{text}");
        }
    }
}
