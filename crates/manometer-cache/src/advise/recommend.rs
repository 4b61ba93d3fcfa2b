//! The recommendation, by the results of the analysis alone.

use manometer_measure::human::{bytes, percent, significant};
use serde::Serialize;

use super::memory::MemoryAdvice;
use super::pricing::{PricedTier, TierKind};
use super::rank::PolicyRanking;
use super::replay::{SensitivityChange, SensitivityResult};

/// The smallest reduction of LRU's misses for which another policy is recommended.
pub const GAIN_MIN: f64 = 0.01;
/// The ratio of storage pages to object sizes from which a note is given.
const PAGES_MIN: f64 = 1.5;

/// The results that decide.
#[derive(Debug, Clone)]
pub struct AdviceInputs<'a> {
    /// Whether any request reads.
    pub has_reads: bool,
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
    /// The currency of the prices.
    pub currency: &'a str,
    /// The dates of the prices.
    pub dates: &'a str,
}

/// The recommended policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyVerdict {
    /// The recommendation.
    pub policy: String,
    /// The policy with the fewest misses; LRU if none has fewer.
    pub best: String,
    /// Its misses divided by LRU's, minus 1.
    pub relative: f64,
    /// Half the width of the 95 % confidence interval.
    pub error: f64,
}

impl PolicyVerdict {
    /// The best policy, if it has fewer misses than LRU by more than the error and by at least one percent; else LRU.
    pub fn of(ranking: &PolicyRanking) -> Self {
        let best = ranking.policies.iter().find(|ranked| ranked.relative < 0.0);
        let (name, relative, error) =
            best.map_or(("lru", 0.0, 0.0), |best| (best.policy.as_str(), best.relative, best.error));
        let is_better = -relative > error && -relative >= GAIN_MIN;
        let policy = if is_better { name } else { "lru" };
        Self { policy: policy.to_owned(), best: name.to_owned(), relative, error }
    }
}

/// Whether an SSD tier pays.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum SsdVerdict {
    /// It pays.
    Pays(SsdComparison),
    /// It does not pay.
    DoesNotPay(SsdComparison),
    /// It is unknown.
    Unknown {
        /// Why.
        reason: String,
    },
}

/// The arrangement with a cache and the lowest cost per MB/s, compared with its origin alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SsdComparison {
    /// The arrangement.
    pub arrangement: String,
    /// Its origin without the cache.
    pub alone: String,
    /// Its throughput divided by that of the origin alone.
    pub times_as_fast: f64,
    /// The break-even price per GB of SSD.
    pub break_even_per_gb: f64,
    /// The current price per GB.
    pub per_gb_now: f64,
    /// Whether it pays at half the price.
    pub pays_at_half: bool,
    /// Whether it pays at twice the price.
    pub pays_at_twice: bool,
}

/// A sentence of the recommendation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdviceSentence {
    /// Its subject: `memory`, `policy`, `ssd`, `sensitivity` or `caution`.
    pub about: &'static str,
    /// The sentence.
    pub text: String,
}

/// The recommendation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// The amount of memory in bytes.
    pub memory_bytes: u64,
    /// The policy.
    pub policy: PolicyVerdict,
    /// Whether an SSD tier pays.
    pub ssd: SsdVerdict,
    /// The arrangement with the lowest cost per MB/s.
    pub cheapest: Option<String>,
    /// The recommendation in sentences.
    pub sentences: Vec<AdviceSentence>,
}

/// The index of the arrangement with a cache and the lowest cost per MB/s among those with a known break-even.
pub fn best_cached(tiers: &[PricedTier]) -> Option<usize> {
    let known = |place: &usize| tiers[*place].tier == TierKind::Cached && tiers[*place].break_even_per_gb.is_some();
    (0..tiers.len()).filter(known).min_by(|one, other| by_cost(&tiers[*one], &tiers[*other]))
}

fn by_cost(one: &PricedTier, other: &PricedTier) -> std::cmp::Ordering {
    one.cost_per_mb_per_s.total_cmp(&other.cost_per_mb_per_s)
}

/// Recommends memory, policy and tier.
pub fn recommend(evidence: &AdviceInputs<'_>) -> Recommendation {
    let ssd = ssd(evidence.tiers);
    let cheapest = evidence.tiers.iter().min_by(|one, other| by_cost(one, other));
    let mut sentences = Vec::new();
    let mut say = |about, text| sentences.push(AdviceSentence { about, text });
    say("memory", memory_sentence(evidence.memory));
    say("policy", policy_sentence(evidence.policy));
    say("ssd", ssd_sentence(&ssd, evidence));
    if let Some(cheapest) = cheapest {
        say("ssd", cheapest_sentence(cheapest, evidence.currency));
    }
    say("sensitivity", memory_sensitivity(evidence.memory));
    if let SsdVerdict::Pays(pays) | SsdVerdict::DoesNotPay(pays) = &ssd {
        say("sensitivity", ssd_sensitivity(pays, matches!(ssd, SsdVerdict::Pays(_)), evidence.varied));
    }
    if !evidence.has_reads {
        let text = "The trace has no reads: memory only buffers writes, and the effect on reads is \
                    unknown.";
        say("caution", text.to_owned());
    }
    if evidence.storage_bytes as f64 > PAGES_MIN * evidence.footprint_bytes as f64 {
        say("caution", pages_sentence(evidence));
    }
    Recommendation {
        memory_bytes: evidence.memory.recommended.bytes,
        policy: evidence.policy.clone(),
        ssd,
        cheapest: cheapest.map(|tier| tier.arrangement.clone()),
        sentences,
    }
}

fn ssd(tiers: &[PricedTier]) -> SsdVerdict {
    let unknown = |reason: &str| SsdVerdict::Unknown { reason: reason.to_owned() };
    let Some(best) = best_cached(tiers).and_then(|place| tiers.get(place)) else {
        let reason = tiers.iter().find_map(|tier| tier.break_even_reason.as_deref());
        return unknown(reason.unwrap_or("no arrangement has an SSD before disks"));
    };
    let (Some(alone), Some(break_even_per_gb), Some(per_gb_now)) =
        (best.alone.and_then(|alone| tiers.get(alone)), best.break_even_per_gb, best.per_gb_now)
    else {
        return unknown("the arrangement without SSDs was not simulated");
    };
    let pays = SsdComparison {
        arrangement: best.arrangement.clone(),
        alone: alone.arrangement.clone(),
        times_as_fast: best.mb_per_s / alone.mb_per_s,
        break_even_per_gb,
        per_gb_now,
        pays_at_half: break_even_per_gb >= per_gb_now / 2.0,
        pays_at_twice: break_even_per_gb >= per_gb_now * 2.0,
    };
    if break_even_per_gb >= per_gb_now { SsdVerdict::Pays(pays) } else { SsdVerdict::DoesNotPay(pays) }
}

fn memory_sentence(memory: &MemoryAdvice) -> String {
    let MemoryAdvice { recommended, knees, all, policy, .. } = memory;
    let (size, share, missed) = (bytes(recommended.bytes), percent(recommended.share), percent(recommended.miss_ratio));
    let found = format!("Use {size} of memory, {share} of the size of all objects: {policy} then misses {missed}");
    let floor = percent(all.miss_ratio);
    match knees.as_slice() {
        _ if recommended.capacity == all.capacity => format!("{found}: only compulsory (cold) misses."),
        [] => format!(
            "{found}. The curve has no knee: more memory reduces misses up to {}, where {floor} miss. Choose by \
             budget.",
            bytes(all.bytes)
        ),
        [.., _] => {
            let before: Vec<String> = knees[..knees.len() - 1]
                .iter()
                .map(|knee| format!("{} ({} miss)", bytes(knee.bytes), percent(knee.miss_ratio)))
                .collect();
            let cheaper = match before.is_empty() {
                true => String::new(),
                false => format!(" Smaller knees: {}.", before.join(", or ")),
            };
            format!("{found}. More memory gains little: with all objects cached, {floor} still miss.{cheaper}")
        }
    }
}

fn policy_sentence(verdict: &PolicyVerdict) -> String {
    let PolicyVerdict { policy, best, relative, error } = verdict;
    let error = if *error > 0.0 { format!(" (± {})", percent(*error)) } else { String::new() };
    match (policy == "lru", best == "lru") {
        (false, _) => format!("Use {policy}: it misses {}{error} less than LRU.", percent(-relative)),
        (true, true) => "Use LRU: no other policy has a lower miss ratio.".to_owned(),
        (true, false) => format!(
            "Use LRU: the best, {best}, misses {}{error} less, which is {}.",
            percent(-relative),
            if -relative < GAIN_MIN { "too little to matter" } else { "within the error" }
        ),
    }
}

fn ssd_sentence(ssd: &SsdVerdict, evidence: &AdviceInputs<'_>) -> String {
    let AdviceInputs { currency, dates, .. } = evidence;
    let (pays, is_yes) = match ssd {
        SsdVerdict::Pays(pays) => (pays, true),
        SsdVerdict::DoesNotPay(pays) => (pays, false),
        SsdVerdict::Unknown { reason } => return format!("Whether an SSD tier pays is unknown: {reason}."),
    };
    let SsdComparison { arrangement, alone, times_as_fast, break_even_per_gb, per_gb_now, .. } = pays;
    let verdict = if is_yes { "An SSD tier pays" } else { "An SSD tier does not pay" };
    let limit = match *break_even_per_gb {
        price if price > 0.0 => format!("Break-even price: {} {currency} per GB", significant(price)),
        _ => "It pays at no price".to_owned(),
    };
    let (times, now) = (significant(*times_as_fast), significant(*per_gb_now));
    format!(
        "{verdict} at these prices ({dates}): {arrangement} is {times} times as fast as {alone}. {limit}; SSDs cost \
         {now} {currency} per GB."
    )
}

fn cheapest_sentence(cheapest: &PricedTier, currency: &str) -> String {
    let what = match cheapest.tier {
        TierKind::Disks => "disks only",
        TierKind::Ssds => "SSDs only",
        TierKind::Cached => "an SSD before disks",
    };
    let (name, cost) = (&cheapest.arrangement, significant(cheapest.cost_per_mb_per_s));
    let speed = significant(cheapest.mb_per_s);
    format!("Lowest cost per MB/s: {name}, {what}, {cost} {currency}, at {speed} MB/s.")
}

fn memory_sensitivity(memory: &MemoryAdvice) -> String {
    let twice = match memory.twice.capacity > memory.recommended.capacity {
        true => format!("twice as much, {} would miss {}", bytes(memory.twice.bytes), percent(memory.twice.miss_ratio)),
        false => "more memory would change nothing".to_owned(),
    };
    match memory.half {
        Some(half) => format!(
            "Half the memory ({}) would miss {} instead of {}; {twice}.",
            bytes(half.bytes),
            percent(half.miss_ratio),
            percent(memory.recommended.miss_ratio),
        ),
        None => format!("Half the memory is outside the measured curve; {twice}."),
    }
}

fn pages_sentence(evidence: &AdviceInputs<'_>) -> String {
    let [storage, objects] = [evidence.storage_bytes, evidence.footprint_bytes].map(bytes);
    format!(
        "The objects take {objects}, and {storage} on storage, in whole pages: memory that caches pages, as it does before \
         the tiers, holds fewer of them than a cache of objects."
    )
}

/// Describes the changes that would change the answer.
fn ssd_sensitivity(pays: &SsdComparison, is_yes: bool, varied: &[SensitivityResult]) -> String {
    let mut tried = vec![
        ("half the price of SSDs".to_owned(), Some(pays.pays_at_half)),
        ("twice the price of SSDs".to_owned(), Some(pays.pays_at_twice)),
    ];
    tried.extend(varied.iter().map(|varied| (change(varied.change), varied.pays)));
    let named = |wanted: Option<bool>| {
        let names = tried.iter().filter(|(_, pays)| *pays == wanted).map(|(name, _)| name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    let (other, same, unknown) = (named(Some(!is_yes)), named(Some(is_yes)), named(None));
    let (still, changed) = match is_yes {
        true => ("The SSD tier still pays", "It would not pay"),
        false => ("The SSD tier does not pay either", "It would pay"),
    };
    let mut sentences = Vec::new();
    sentences.extend((!same.is_empty()).then(|| format!("{still} with {same}.")));
    sentences.extend((!other.is_empty()).then(|| format!("{changed} with {other}.")));
    sentences.extend((!unknown.is_empty()).then(|| format!("It is unknown with {unknown}.")));
    sentences.join(" ")
}

fn change(change: SensitivityChange) -> String {
    match change {
        SensitivityChange::Memory(factor) if factor < 1.0 => "half the memory".to_owned(),
        SensitivityChange::Memory(_) => "twice the memory".to_owned(),
        SensitivityChange::MemoryShare(share) => format!("memory for {:.0} % of the data", 100.0 * share),
        SensitivityChange::Cache(factor) if factor < 1.0 => "half the cache".to_owned(),
        SensitivityChange::Cache(_) => "twice the cache".to_owned(),
    }
}
