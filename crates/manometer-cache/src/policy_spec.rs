//! The text form of a policy: `policy[:parameter=value…][+admission[:parameter=value…]]`.

use std::fmt;
use std::str::FromStr;

use crate::admission::{ADMISSIONS, AdmissionKind, FilteredCache};
use crate::error::CacheError;
use crate::policy::time_source::REQUESTS_PER_SECOND;
use crate::policy::{CacheConfig, LRU, POLICIES, Policy, PolicyKind, PolicyParameter, TimeSource};
use crate::request::RequestFields;
use crate::requests::RequestSequence;

/// A policy with its parameters and its admission filter.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicySpec {
    kind: &'static PolicyKind,
    parameters: Vec<f64>,
    /// The names of the parameters that were given.
    explicit: Vec<&'static str>,
    admission: Option<(&'static AdmissionKind, Vec<f64>)>,
}

impl PolicySpec {
    /// LRU, which admits everything.
    pub(crate) fn lru() -> Self {
        Self { kind: LRU, parameters: Vec::new(), explicit: Vec::new(), admission: None }
    }

    /// The policy.
    pub fn kind(&self) -> &'static PolicyKind {
        self.kind
    }

    /// The values of its parameters, in order.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// Whether a parameter was given, even with its default value.
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.explicit.contains(&name)
    }

    /// Sets a parameter, if the policy has it, limited to its range.
    pub fn set_parameter(&mut self, name: &str, value: f64) {
        if let Some(at) = self.kind.parameters.iter().position(|parameter| parameter.name == name) {
            self.parameters[at] = value.clamp(self.kind.parameters[at].min, self.kind.parameters[at].max);
        }
    }

    /// The value of a parameter, if the policy has one of that name.
    pub(crate) fn parameter(&self, name: &str) -> Option<f64> {
        let mut named = self.kind.parameters.iter().zip(&self.parameters);
        named.find(|(parameter, _)| parameter.name == name).map(|(_, value)| *value)
    }

    /// The admission filter with its parameters, if any.
    pub fn admission(&self) -> Option<(&'static AdmissionKind, &[f64])> {
        self.admission.as_ref().map(|(admission, parameters)| (*admission, &parameters[..]))
    }

    /// The fields of requests that `policies` need, with the sizes where capacities are bytes.
    pub fn fields(policies: &[Self], by_size: bool) -> RequestFields {
        let sizes = RequestFields { sizes: by_size, ..RequestFields::NONE };
        policies.iter().fold(sizes, |all, policy| all.union(policy.kind.details))
    }

    /// How many requests count as a second, where the policy needs times and the trace has none.
    pub fn requests_per_second(&self, requests: &RequestSequence) -> Option<u64> {
        match self.time_source(requests)? {
            TimeSource::RequestRate(requests) => Some(requests),
            TimeSource::Trace => None,
        }
    }

    /// The time source for these requests, if the policy needs one.
    pub fn time_source(&self, requests: &RequestSequence) -> Option<TimeSource> {
        let mut known = self.kind.parameters.iter().zip(&self.parameters).filter(|_| self.kind.details.times);
        let (_, rate) = known.find(|(parameter, _)| parameter.name == REQUESTS_PER_SECOND.name)?;
        Some(TimeSource::new(requests, *rate))
    }

    /// Creates a cache.
    pub fn create<'a>(
        &'a self,
        capacity: u64,
        requests: &'a RequestSequence,
        by_size: bool,
        seed: u64,
    ) -> Box<dyn Policy + 'a> {
        let setting = CacheConfig { capacity, by_size, requests, parameters: &self.parameters, seed };
        let cache = (self.kind.create)(&setting);
        match &self.admission {
            None => cache,
            Some((admission, parameters)) => {
                Box::new(FilteredCache::new(cache, (admission.create)(&CacheConfig { parameters, ..setting })))
            }
        }
    }
}

impl FromStr for PolicySpec {
    type Err = CacheError;

    fn from_str(text: &str) -> Result<Self, CacheError> {
        let (policy, admission) = text.split_once('+').map_or((text, None), |(policy, rest)| (policy, Some(rest)));
        let (name, values) = split(policy);
        let Some(kind) = POLICIES.iter().find(|kind| kind.name == name) else {
            return Err(unknown("policy", name, POLICIES.iter().map(|kind| kind.name)));
        };
        let parameters = read(kind.name, kind.parameters, values)?;
        let admission = admission.map(read_admission).transpose()?;
        let names = values.into_iter().flat_map(|values| values.split(':')).filter_map(|part| part.split_once('='));
        let known = |(name, _)| kind.parameters.iter().map(|known| known.name).find(|known| *known == name);
        Ok(Self { kind, parameters, explicit: names.filter_map(known).collect(), admission })
    }
}

fn read_admission(text: &str) -> Result<(&'static AdmissionKind, Vec<f64>), CacheError> {
    let (name, values) = split(text);
    let Some(admission) = ADMISSIONS.iter().find(|admission| admission.name == name) else {
        return Err(unknown("admission", name, ADMISSIONS.iter().map(|admission| admission.name)));
    };
    Ok((admission, read(admission.name, admission.parameters, values)?))
}

fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once(':').map_or((text, None), |(name, values)| (name, Some(values)))
}

fn unknown(what: &str, name: &str, known: impl Iterator<Item = &'static str>) -> CacheError {
    let known: Vec<&str> = known.collect();
    CacheError::Invalid(format!("there is no {what} `{name}`: take one of {}", known.join(", ")))
}

/// The values of the parameters `known` of `owner`: those in `text`, else the defaults.
fn read(owner: &str, known: &[PolicyParameter], text: Option<&str>) -> Result<Vec<f64>, CacheError> {
    let wrong = |what: String| Err(CacheError::Invalid(what));
    let mut values: Vec<f64> = known.iter().map(|parameter| parameter.default).collect();
    for part in text.into_iter().flat_map(|text| text.split(':')) {
        let Some((name, value)) = part.split_once('=') else {
            return wrong(format!("`{part}` is not a parameter of `{owner}`: write name=value"));
        };
        let Some(at) = known.iter().position(|parameter| parameter.name == name) else {
            let names: Vec<&str> = known.iter().map(|parameter| parameter.name).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return wrong(format!("`{owner}` has no parameter `{name}`; it has {names}"));
        };
        let PolicyParameter { min, max, is_whole, .. } = known[at];
        values[at] = match value.parse::<f64>() {
            Ok(value) if (min..=max).contains(&value) && !(is_whole && value.fract() != 0.0) => value,
            _ => {
                let number = if is_whole { "whole number" } else { "number" };
                return wrong(format!(
                    "`{value}` is not a valid {name} of `{owner}`: write a {number} from {min} to {max}"
                ));
            }
        };
    }
    Ok(values)
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self.kind.name, self.kind.parameters, &self.parameters)?;
        let Some((admission, parameters)) = &self.admission else { return Ok(()) };
        f.write_str("+")?;
        write(f, admission.name, admission.parameters, parameters)
    }
}

/// Writes a name and the parameters that differ from their defaults.
fn write(f: &mut fmt::Formatter<'_>, name: &str, known: &[PolicyParameter], values: &[f64]) -> fmt::Result {
    f.write_str(name)?;
    std::iter::zip(known, values)
        .filter(|(parameter, value)| parameter.default != **value)
        .try_for_each(|(parameter, value)| write!(f, ":{}={value}", parameter.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_and_written() {
        for text in ["lru", "mq:queues=3:lifetime=7", "lru+size:max=5", "lirs:skip-repeats=1+tinylfu"] {
            assert_eq!(text.parse::<PolicySpec>().unwrap().to_string(), text);
        }
        assert_eq!("mq:queues=8".parse::<PolicySpec>().unwrap().to_string(), "mq");
        assert_eq!("mq:history=0.5".parse::<PolicySpec>().unwrap().parameters(), [8.0, 10_000.0, 0.5, 0.0]);
    }

    #[test]
    fn a_wrong_policy_specification_is_explained() {
        let wrong = |text: &str| text.parse::<PolicySpec>().unwrap_err().to_string();
        assert!(wrong("lrv").starts_with("there is no policy `lrv`: take one of opt, fifo, lru, "));
        assert!(wrong("").starts_with("there is no policy ``"));
        assert_eq!(wrong("lru:size"), "`size` is not a parameter of `lru`: write name=value");
        assert_eq!(wrong("lru:a=1"), "`lru` has no parameter `a`; it has none");
        assert_eq!(wrong("clock:bit=1"), "`clock` has no parameter `bit`; it has bits");
        assert_eq!(wrong("clock:bits=9"), "`9` is not a valid bits of `clock`: write a whole number from 1 to 8");
        assert_eq!(wrong("clock:bits=1.5"), "`1.5` is not a valid bits of `clock`: write a whole number from 1 to 8");
        assert_eq!(wrong("2q:in=NaN"), "`NaN` is not a valid in of `2q`: write a number from 0 to 1");
        assert_eq!(wrong("lru:"), "`` is not a parameter of `lru`: write name=value");
        assert!(wrong("lru+lru").starts_with("there is no admission `lru`: take one of size, "));
        assert!(wrong("lru+size+size").starts_with("there is no admission `size+size`"));
        assert_eq!(
            wrong("lru+size:max=0"),
            "`0` is not a valid max of `size`: write a whole number from 1 to 1000000000000000"
        );
    }
}
