//! Parameters of the experiment.

use std::collections::BTreeMap;

/// The parameters in the log's second line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Parses `parameters: --log_level="info" --duration="90" …` without its first word.
    pub fn parse(text: &str) -> Self {
        let words = shell_words::split(text).unwrap_or_default();
        let pair = |word: &String| {
            let (name, value) = word.strip_prefix("--")?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        Self(words.iter().filter_map(pair).collect())
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a parameter; `None` if it is empty or missing.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.parse().ok()
    }

    /// The value for one task: values are separated by `#`, and a single one applies to all.
    pub fn of_task(&self, name: &str, task: usize) -> Option<&str> {
        let all: Vec<&str> = self.get(name)?.split('#').collect();
        let value = if all.len() == 1 { all[0] } else { *all.get(task)? };
        Some(value).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_each_task_s_too() {
        let parameters = Parameters::parse(r#"--duration="90" --at_file="a#b" --at_params="--x=1 --y" --at_script="""#);
        assert_eq!(parameters.number("duration"), Some(90.0));
        assert_eq!(parameters.of_task("at_file", 1), Some("b"));
        assert_eq!(parameters.of_task("at_params", 3), Some("--x=1 --y"));
        assert_eq!((parameters.get("at_script"), parameters.get("no")), (None, None));
    }
}
