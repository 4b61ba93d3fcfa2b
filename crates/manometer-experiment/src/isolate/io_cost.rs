//! `io.cost`: whether the kernel shares the device by a model of what requests cost.
//!
//! It belongs to the device, not to a group: the group's share is its `io.weight`. It is a limit here because it is
//! what makes the weights count, and is swept together with them.

use std::fmt;
use std::str::FromStr;

use super::value::text_limit;

/// The parameters of `io.cost.qos`, as the kernel names them, each a number from 0.
const NUMBERS: [&str; 6] = ["rpct", "rlat", "wpct", "wlat", "min", "max"];

/// How the device is shared by cost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IoCost(Option<String>);

impl IoCost {
    const WANTED: &str = "setting of io.cost: write `off`, `auto`, or the kernel's parameters such as `rpct=95 \
                          rlat=5000 wpct=95 wlat=5000 min=50 max=150`";

    /// Whether the device is shared by cost.
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// What is written into `io.cost.qos` behind the device's number.
    pub(super) fn for_kernel(&self) -> String {
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
        let sound = |word: &&str| {
            let (name, number) = word.split_once('=').unwrap_or((word, ""));
            NUMBERS.contains(&name) && number.parse::<f64>().is_ok_and(|number| number.is_finite() && number >= 0.0)
        };
        (!words.is_empty() && words.iter().all(sound)).then(|| Self(Some(words.join(" ")))).ok_or(())
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
    fn parameters_go_to_the_kernel_as_it_names_them() {
        let user: IoCost = "rpct=95.00  rlat=5000".parse().unwrap();
        assert_eq!(user.for_kernel(), "enable=1 ctrl=user rpct=95.00 rlat=5000");
        assert_eq!("auto".parse::<IoCost>().unwrap().for_kernel(), "enable=1 ctrl=auto");
        assert_eq!("off".parse::<IoCost>().unwrap().for_kernel(), "enable=0");
        for text in ["off", "auto", "min=50.00 max=150.00"] {
            assert_eq!(text.parse::<IoCost>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nonsense_is_no_setting() {
        for text in ["", "on", "enable=1", "rpct", "rpct=fast", "rpct=-1", "rlat=NaN"] {
            assert_eq!(text.parse::<IoCost>(), Err(()), "{text}");
        }
    }
}
