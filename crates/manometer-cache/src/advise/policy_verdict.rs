//! The recommended policy, by the ranking alone.

use manometer_measure::Grade;
use serde::Serialize;

use super::rank::{PolicyRank, PolicyRanking, Rivals};

/// The smallest reduction of LRU's misses for which another policy is recommended.
pub const GAIN_MIN: f64 = 0.01;

/// What the comparison of policies shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyOutcome {
    /// A policy misses clearly less than LRU.
    Winner,
    /// None misses clearly less.
    NoClearWinner,
    /// None misses fewer by as much as matters.
    NoGain,
    /// All objects fit: no policy has to evict.
    AllFit,
    /// No policy has hits, or too few to be shown.
    NoHits,
    /// The trace is too short for the question.
    TooShort,
}

/// The recommended policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyVerdict {
    /// The recommendation: LRU unless another is a clear winner.
    pub policy: String,
    /// What the comparison shows.
    pub outcome: PolicyOutcome,
    /// The winner or, without one, the policy with the fewest misses; LRU if none has fewer.
    pub best: String,
    /// Its misses divided by LRU's, minus 1.
    pub relative: f64,
    /// Half the width of the 95 % confidence interval; `None` if the trace is too short for one.
    pub error: Option<f64>,
    /// The policies that are not shown to miss more than the winner.
    pub similar: Vec<String>,
    /// The policies with fewer misses than the winner on this trace, which is too short to say more of them.
    pub uncompared: Vec<String>,
    /// The number of requests that the comparison needs, if the trace is too short.
    pub requests_needed: Option<u64>,
}

impl PolicyVerdict {
    /// The policy with the fewest misses among those that miss fewer than LRU beyond their interval and by at least one
    /// percent; else LRU. If `all_fit`, no policy has to evict.
    pub fn of(ranking: &PolicyRanking, all_fit: bool) -> Self {
        let is_gain = |ranked: &&PolicyRank| -ranked.relative >= GAIN_MIN;
        let is_clear = |ranked: &&PolicyRank| ranked.error.is_some_and(|error| ranked.relative + error < 0.0);
        let winner = ranking.policies.iter().filter(|_| !all_fit).find(|ranked| is_gain(ranked) && is_clear(ranked));
        let top = ranking.policies.iter().find(|ranked| ranked.relative < 0.0);
        let (best, lru) = (winner.or(top), ranking.of("lru"));
        let Rivals { similar, uncompared } = winner.map(|winner| ranking.rivals_of(winner)).unwrap_or_default();
        let outcome = match (winner, top.filter(is_gain)) {
            _ if all_fit => PolicyOutcome::AllFit,
            (Some(_), _) => PolicyOutcome::Winner,
            (None, Some(top)) if top.error.is_none() => PolicyOutcome::TooShort,
            (None, Some(_)) => PolicyOutcome::NoClearWinner,
            // LRU differs by nothing from itself: without an interval, there is none for any policy.
            (None, None) if lru.is_none_or(|lru| lru.error.is_none()) => PolicyOutcome::TooShort,
            (None, None) => PolicyOutcome::NoGain,
        };
        Self {
            policy: winner.map_or("lru", |winner| winner.policy.as_str()).to_owned(),
            outcome,
            best: best.map_or("lru", |best| best.policy.as_str()).to_owned(),
            relative: best.map_or(0.0, |best| best.relative),
            error: best.map_or(Some(0.0), |best| best.error),
            similar,
            uncompared,
            requests_needed: match outcome {
                PolicyOutcome::TooShort => best.or(lru).and_then(|ranked| ranked.requests_needed),
                _ => None,
            },
        }
    }

    /// The verdict where no cache has hits.
    pub(super) fn without_hits() -> Self {
        Self {
            policy: "lru".to_owned(),
            outcome: PolicyOutcome::NoHits,
            best: "lru".to_owned(),
            relative: 0.0,
            error: None,
            similar: Vec::new(),
            uncompared: Vec::new(),
            requests_needed: None,
        }
    }

    /// What the recommendation may be used for.
    pub fn grade(&self) -> Grade {
        match self.outcome {
            PolicyOutcome::Winner if !self.uncompared.is_empty() => Grade::Indicative,
            PolicyOutcome::Winner | PolicyOutcome::AllFit => Grade::Sound,
            PolicyOutcome::NoGain | PolicyOutcome::NoClearWinner | PolicyOutcome::NoHits => Grade::Indicative,
            PolicyOutcome::TooShort => Grade::Void,
        }
    }
}
