//! The sentence on the policy.

use manometer_measure::human::{bytes, percent};

use super::policy_verdict::{GAIN_MIN, PolicyOutcome, PolicyVerdict};
use super::rank::{PolicyRank, PolicyRanking};

/// The most policies that are listed by name.
const NAMES_MAX: usize = 4;

/// The recommendation; `size_bytes` is the size at which policies were compared.
pub(super) fn policy_sentence(verdict: &PolicyVerdict, ranking: &PolicyRanking, size_bytes: u64) -> String {
    let PolicyVerdict { policy, best, outcome, .. } = verdict;
    let size = bytes(size_bytes);
    match outcome {
        PolicyOutcome::Winner => {
            let (similar, uncompared) = (similar(&verdict.similar), uncompared(&verdict.uncompared, ranking));
            format!("Use {policy}: with {size} it misses {}.{similar}{uncompared}", difference(verdict, ranking))
        }
        PolicyOutcome::NoClearWinner => format!(
            "Use LRU: no clear winner with {size}. The fewest misses has {best}, {}.",
            difference(verdict, ranking)
        ),
        PolicyOutcome::NoGain => {
            let gain = percent(GAIN_MIN);
            format!("Use LRU: with {size} no policy misses at least {gain} less{}.", basis(ranking))
        }
        PolicyOutcome::AllFit => format!("Use LRU: with {size} all objects fit, and the policy makes no difference."),
        PolicyOutcome::NoHits => "No policy is advised: with all objects cached, 100.0 % miss.".to_owned(),
        PolicyOutcome::TooShort => {
            let needed = match verdict.requests_needed {
                Some(needed) => {
                    format!("about {} are needed if a longer trace calls for the same memory", thousands(needed))
                }
                None => "more are needed".to_owned(),
            };
            format!(
                "No policy is advised, and LRU assumed: with {size} the trace is too short to compare policies; {needed}, \
                 and it has {}.{}",
                thousands(ranking.all_requests),
                here(verdict)
            )
        }
    }
}

/// `5.0 % less than LRU on this trace, exactly simulated, and 3.1 to 6.9 % less on such traffic (95 % interval …)`.
fn difference(verdict: &PolicyVerdict, ranking: &PolicyRanking) -> String {
    let PolicyVerdict { relative, error, .. } = *verdict;
    let found = format!("{} less than LRU{}", percent(-relative), basis(ranking));
    let Some(error) = error else { return found };
    let (least, most) = (-relative - error, percent(error - relative));
    let least = match least < 0.0 {
        true => format!("{} more", percent(-least)),
        false => percent(least).trim_end_matches(" %").to_owned(),
    };
    let policies = ranking.policies.len();
    format!("{found}, and {least} to {most} less on such traffic (95 % interval for the best of {policies})")
}

fn basis(ranking: &PolicyRanking) -> String {
    match ranking.rate < 1.0 {
        true => format!(", estimated from {} of the keys", percent(ranking.rate)),
        false => " on this trace, exactly simulated".to_owned(),
    }
}

fn similar(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(" Not distinguishable from it: {}.", listed(names)) }
}

/// The policies that miss less than the winner on this trace, and are not shown to do so on others.
fn uncompared(names: &[String], ranking: &PolicyRanking) -> String {
    let Some(fewest) = names.first().and_then(|name| ranking.of(name)) else { return String::new() };
    let PolicyRank { policy, relative, .. } = fewest;
    format!(
        " {policy} misses {} less than LRU on this trace, which is too short to say what other traffic would show of {}.",
        percent(-relative),
        listed(names)
    )
}

/// The first names, and how many others there are.
fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        others => format!("{shown} and {others} more"),
    }
}

fn here(verdict: &PolicyVerdict) -> String {
    match verdict.relative < 0.0 {
        true => format!(" On this trace itself {} misses {} less than LRU.", verdict.best, percent(-verdict.relative)),
        false => String::new(),
    }
}

/// A number of requests, in groups of three digits.
fn thousands(requests: u64) -> String {
    let digits = requests.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    format!("{} requests", groups.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([7, 1234, 914_145].map(thousands), ["7 requests", "1 234 requests", "914 145 requests"]);
    }
}
