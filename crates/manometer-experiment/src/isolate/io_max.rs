//! `io.max`: how much a workload may ask of the device.

use std::fmt;
use std::str::FromStr;

use manometer_measure::ByteSize;

use super::value::text_limit;

/// Upper bounds of a workload's I/O on the device; what is not set is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IoMax {
    /// Bytes read a second.
    pub rbps: Option<u64>,
    /// Bytes written a second.
    pub wbps: Option<u64>,
    /// Reads a second.
    pub riops: Option<u64>,
    /// Writes a second.
    pub wiops: Option<u64>,
}

impl IoMax {
    const WANTED: &str =
        "bound of I/O: write `rbps=100MiB wbps=50MiB riops=1000 wiops=500`, each or some of them, or `max`";

    fn bounds(&self) -> [(&'static str, Option<u64>); 4] {
        [("rbps", self.rbps), ("wbps", self.wbps), ("riops", self.riops), ("wiops", self.wiops)]
    }

    /// The bounds in the kernel's form, all four.
    pub(super) fn for_kernel(&self) -> String {
        let bound = |(name, bound): (&str, Option<u64>)| match bound {
            Some(bound) => format!("{name}={bound}"),
            None => format!("{name}=max"),
        };
        self.bounds().map(bound).join(" ")
    }

    /// Whether writes are bounded.
    pub(super) fn bounds_writes(&self) -> bool {
        self.wbps.is_some() || self.wiops.is_some()
    }
}

impl FromStr for IoMax {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut read = Self::default();
        if text.trim() == "max" {
            return Ok(read);
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
                "rbps" => read.rbps = number(bytes)?,
                "wbps" => read.wbps = number(bytes)?,
                "riops" => read.riops = number(requests)?,
                "wiops" => read.wiops = number(requests)?,
                _ => return Err(()),
            }
            if seen.contains(&name) {
                return Err(());
            }
            seen.push(name);
        }
        if seen.is_empty() { Err(()) } else { Ok(read) }
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
    fn bounds_are_read_with_units_and_written_as_the_kernel_reads_them() {
        let max: IoMax = "rbps=100MiB  wiops=1_000 riops=max".parse().unwrap();
        assert_eq!(max.for_kernel(), "rbps=104857600 wbps=max riops=max wiops=1000");
        assert_eq!(max.to_string(), "rbps=100MiB wiops=1000");
        assert_eq!(max.to_string().parse(), Ok(max));
        assert_eq!("max".parse(), Ok(IoMax::default()));
        assert_eq!(IoMax::default().to_string(), "max");
    }

    #[test]
    fn nonsense_is_no_bound() {
        for text in
            ["", "100MiB", "rbps", "rbps=", "rbps=0", "rbps=-1", "speed=1", "riops=1MiB", "rbps=1 rbps=2", "max rbps=1"]
        {
            assert_eq!(text.parse::<IoMax>(), Err(()), "{text}");
        }
    }
}
