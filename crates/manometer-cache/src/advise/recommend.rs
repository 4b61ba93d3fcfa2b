//! The recommendation, by the results of the analysis alone.

use manometer_measure::Grade;
use manometer_measure::human::bytes;
use serde::Serialize;

use super::advice_verdict::AdviceVerdict;
use super::memory::MemoryAdvice;
use super::memory_choice::MemoryReason;
use super::memory_sentences::{memory_sensitivity, memory_sentence};
use super::paired_difference::BLOCKS_MIN;
use super::policy_sentences::policy_sentence;
use super::policy_verdict::{PolicyOutcome, PolicyVerdict};
use super::pricing::PricedTier;
use super::rank::PolicyRanking;
use super::replay::SensitivityResult;
use super::sentence::AdviceSentence;
use super::ssd_sentences::{NamedPrices, cheapest, cheapest_sentence, ssd_sensitivity, ssd_sentence};
use super::ssd_verdict::SsdVerdict;
use super::tier_outcome::TierOutcome;

/// The ratio of storage pages to object sizes from which a note is given.
const PAGES_MIN: f64 = 1.5;

/// The results that decide.
#[derive(Debug, Clone)]
pub struct AdviceInputs<'a> {
    /// Whether any request reads.
    pub has_reads: bool,
    /// Whether the trace was read to its end.
    pub is_whole: bool,
    /// Whether LRU's curve is of a sample of the keys.
    pub is_lru_sampled: bool,
    /// All policies at the recommended size.
    pub ranking: &'a PolicyRanking,
    /// The recommended policy, by [`PolicyVerdict::of`].
    pub policy: &'a PolicyVerdict,
    /// The recommended amount of memory with it.
    pub memory: &'a MemoryAdvice,
    /// The size of all objects in bytes.
    pub footprint_bytes: u64,
    /// The size of the replayed objects in whole pages of storage.
    pub storage_bytes: u64,
    /// Throughput and cost of the arrangements.
    pub tiers: &'a [PricedTier],
    /// The sensitivity of the cheapest arrangement with a cache.
    pub varied: &'a [SensitivityResult],
    /// The prices.
    pub prices: NamedPrices<'a>,
}

/// The recommendation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// What it may be used for as a whole.
    pub verdict: AdviceVerdict,
    /// The amount of memory in bytes; 0 if no cache reduces misses.
    pub memory_bytes: u64,
    /// The policy.
    pub policy: PolicyVerdict,
    /// Whether an SSD tier pays.
    pub ssd: SsdVerdict,
    /// The arrangement with the lowest cost per MB/s in the model.
    pub cheapest: Option<String>,
    /// The recommendation in sentences.
    pub sentences: Vec<AdviceSentence>,
}

/// Recommends memory, policy and tier.
pub fn recommend(inputs: &AdviceInputs<'_>) -> Recommendation {
    let ssd = SsdVerdict::of(inputs.tiers, inputs.footprint_bytes);
    let memory_threats = memory_threats(inputs);
    let memory_grade = if memory_threats.is_empty() { Grade::Sound } else { Grade::Indicative };
    // What was not read may differ from what was.
    let limit = if inputs.is_whole { Grade::Sound } else { Grade::Indicative };
    let (policy_grade, ssd_grade) = (inputs.policy.grade().max(limit), ssd.grade().max(limit));
    let verdict = verdict(inputs, memory_threats, &ssd);
    let mut sentences = Vec::new();
    let mut say = |about, grade, text| sentences.push(AdviceSentence { about, grade, text });
    let (memory, policy) = (inputs.memory, inputs.policy);
    let lru = inputs.ranking.of("lru").filter(|_| policy.policy != "lru").map(|lru| lru.miss_ratios[0]);
    say("memory", Some(memory_grade), memory_sentence(memory, lru));
    say("policy", Some(policy_grade), policy_sentence(policy, inputs.ranking, memory.recommended.bytes));
    say("ssd", Some(ssd_grade), ssd_sentence(&ssd, &inputs.prices));
    let fits = ssd.verdict == TierOutcome::DoesNotPay && ssd.reason.is_some();
    if let Some(text) = cheapest_sentence(inputs.tiers, inputs.prices.currency).filter(|_| !fits) {
        say("ssd", Some(Grade::Indicative), text);
    }
    let has_hits = memory.reason != MemoryReason::NoHits;
    if has_hits {
        say("sensitivity", Some(memory_grade), memory_sensitivity(memory));
    }
    if let Some(comparison) = ssd.priced() {
        say("sensitivity", Some(ssd_grade), ssd_sensitivity(comparison, inputs.varied));
    }
    cautions(inputs, fits).into_iter().for_each(|text| say("caution", None, text));
    Recommendation {
        verdict,
        memory_bytes: if has_hits { memory.recommended.bytes } else { 0 },
        policy: policy.clone(),
        ssd,
        cheapest: cheapest(inputs.tiers).map(|tier| tier.arrangement.clone()),
        sentences,
    }
}

/// What threatens the recommended amount of memory, as clauses.
fn memory_threats(inputs: &AdviceInputs<'_>) -> Vec<String> {
    let has_no_hits = inputs.memory.reason == MemoryReason::NoHits;
    let all_fit = !has_no_hits && inputs.memory.all_fit();
    let has_knee = matches!(inputs.memory.reason, MemoryReason::Knee | MemoryReason::BelowKnee);
    let has_rest = !has_no_hits && !all_fit;
    let threats = [
        (!inputs.is_whole, "the trace is damaged"),
        (inputs.is_lru_sampled, "LRU's curve is of a sample of the keys"),
        (has_no_hits, "a longer trace may request objects more often"),
        (has_rest && !has_knee, "LRU's curve has no knee"),
        (all_fit, "a longer trace may touch more objects"),
        (
            has_rest && inputs.ranking.exchange * BLOCKS_MIN > 1.0,
            "the trace exchanges the content of the cache fewer than five times",
        ),
    ];
    threats.into_iter().filter(|(is_threat, _)| *is_threat).map(|(_, clause)| clause.to_owned()).collect()
}

fn verdict(inputs: &AdviceInputs<'_>, mut reasons: Vec<String>, ssd: &SsdVerdict) -> AdviceVerdict {
    let policy = match inputs.policy.outcome {
        PolicyOutcome::Winner if !inputs.policy.uncompared.is_empty() => {
            Some("the trace is too short to compare all policies that miss less on it")
        }
        PolicyOutcome::Winner | PolicyOutcome::AllFit => None,
        PolicyOutcome::NoClearWinner => Some("no policy is a clear winner"),
        PolicyOutcome::NoHits => Some("caches have no hits"),
        PolicyOutcome::NoGain => Some("policies were compared on one trace"),
        PolicyOutcome::TooShort => Some("the trace is too short to compare policies"),
    };
    let tier = match (ssd.grade(), ssd.verdict) {
        (Grade::Sound, _) => None,
        (_, TierOutcome::Pays | TierOutcome::DoesNotPay) => Some("the tiers are those of a model"),
        (_, TierOutcome::TooCloseToCall) => Some("whether a tier pays is too close to call"),
        (_, TierOutcome::Unknown) => Some("whether a tier pays is unknown"),
    };
    reasons.extend(policy.into_iter().chain(tier).map(str::to_owned));
    if tier.is_some() && inputs.prices.old_years.is_some() {
        reasons.push("the prices are old".to_owned());
    }
    let grade = match (inputs.policy.grade(), ssd.grade()) {
        (Grade::Void, Grade::Void) => Grade::Void,
        _ if reasons.is_empty() => Grade::Sound,
        _ => Grade::Indicative,
    };
    AdviceVerdict { grade, reasons }
}

fn cautions(inputs: &AdviceInputs<'_>, fits: bool) -> Vec<String> {
    let mut cautions = Vec::new();
    if let Some(years) = inputs.prices.old_years.filter(|_| !fits) {
        cautions.push(format!(
            "The prices are of {}, {years:.0} years ago, and say little of today's: name your own with --prices.",
            inputs.prices.dates
        ));
    }
    if !inputs.has_reads {
        let text = "The trace has no reads: memory only buffers writes, and the effect on reads is unknown.";
        cautions.push(text.to_owned());
    }
    if inputs.storage_bytes as f64 > PAGES_MIN * inputs.footprint_bytes as f64 {
        cautions.push(pages_caution(inputs));
    }
    cautions
}

fn pages_caution(inputs: &AdviceInputs<'_>) -> String {
    let [storage, objects] = [inputs.storage_bytes, inputs.footprint_bytes].map(bytes);
    format!(
        "The objects take {objects}, and {storage} on storage, in whole pages: memory that caches pages, as it does before \
         the tiers, holds fewer of them than a cache of objects."
    )
}
