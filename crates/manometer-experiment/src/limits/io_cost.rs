//! `io.cost`: whether the kernel shares the device by a cost model of requests.
//!
//! It is a setting of the device, not of a control group, whose share is its `io.weight`. It is listed with the limits
//! because weights take effect through it and both are swept together.

use std::fmt;
use std::str::FromStr;

use super::value::text_limit;

/// The numeric parameters of `io.cost.qos`, by the kernel's names.
const NUMBERS: [&str; 6] = ["rpct", "rlat", "wpct", "wlat", "min", "max"];

/// The setting of the device's cost model: off, automatic, or the parameters of `io.cost.qos`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IoCost(Option<String>);

impl IoCost {
    const EXPECTED: &str = "an io.cost setting: write `off`, `auto`, or the kernel's parameters, such as `rpct=95 \
                            rlat=5000 wpct=95 wlat=5000 min=50 max=150`";

    /// Whether the cost model is enabled.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The line of `io.cost.qos` after the device number.
    pub(crate) fn kernel_value(&self) -> String {
        match self.0.as_deref() {
            None => "enable=0".to_owned(),
            Some("") => "enable=1 ctrl=auto".to_owned(),
            Some(parameters) => format!("enable=1 ctrl=user {parameters}"),
        }
    }
}

impl FromStr for IoCost {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.trim() {
            "off" => return Ok(Self(None)),
            "auto" => return Ok(Self(Some(String::new()))),
            _ => {}
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_valid = |word: &&str| {
            let (name, number) = word.split_once('=').unwrap_or((word, ""));
            NUMBERS.contains(&name) && number.parse::<f64>().is_ok_and(|number| number.is_finite() && number >= 0.0)
        };
        (!words.is_empty() && words.iter().all(is_valid)).then(|| Self(Some(words.join(" ")))).ok_or(())
    }
}

impl fmt::Display for IoCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0.as_deref() {
            None => "off",
            Some("") => "auto",
            Some(parameters) => parameters,
        })
    }
}

text_limit!(IoCost, "IoCost", "rpct=95 rlat=5000 wpct=95 wlat=5000");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_printed_in_the_kernels_format() {
        let user: IoCost = "rpct=95.00  rlat=5000".parse().unwrap();
        assert_eq!(user.kernel_value(), "enable=1 ctrl=user rpct=95.00 rlat=5000");
        assert_eq!("auto".parse::<IoCost>().unwrap().kernel_value(), "enable=1 ctrl=auto");
        assert_eq!("off".parse::<IoCost>().unwrap().kernel_value(), "enable=0");
        for text in ["off", "auto", "min=50.00 max=150.00"] {
            assert_eq!(text.parse::<IoCost>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn invalid_settings_are_rejected() {
        for text in ["", "on", "enable=1", "rpct", "rpct=fast", "rpct=-1", "rlat=NaN"] {
            assert_eq!(text.parse::<IoCost>(), Err(()), "{text}");
        }
    }
}
