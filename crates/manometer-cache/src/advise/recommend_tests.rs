//! Tests of every verdict with made-up results.

use super::memory::tests::curve;
use super::recommend::{AdviceInputs, PolicyVerdict, Recommendation, SsdVerdict, best_cached, recommend};
use super::{
    MemoryAdvice, PolicyRank, PolicyRanking, PricedTier, SensitivityChange, SensitivityResult, TierKind, memory,
};

fn ranking(policies: &[(&str, f64, f64)]) -> PolicyRanking {
    let ranked = |(policy, relative, error): &(&str, f64, f64)| PolicyRank {
        policy: (*policy).to_owned(),
        relative: *relative,
        error: *error,
        miss_ratios: Vec::new(),
    };
    PolicyRanking { capacities: Vec::new(), requests: 1, policies: policies.iter().map(ranked).collect(), bound: None }
}

fn knee() -> MemoryAdvice {
    memory(&curve("lru", &[1.0, 0.6, 0.1, 0.1, 0.1, 0.1])).unwrap()
}

/// Disks, and an SSD cache with a throughput and a break-even price; its current price is 1.
fn tiers(cached_mb_per_s: f64, break_even: f64) -> Vec<PricedTier> {
    let tier = |arrangement: &str, tier, mb_per_s: f64, cost: f64| PricedTier {
        arrangement: arrangement.to_owned(),
        tier,
        mb_per_s,
        requests_per_s: mb_per_s * 100.0,
        latency_mean_us: 100.0,
        ram_hit_ratio: None,
        cache_hit_ratio: None,
        cost,
        cost_per_mb_per_s: cost / mb_per_s,
        cost_per_1000_requests_per_s: None,
        alone: None,
        break_even_per_gb: None,
        per_gb_now: None,
        break_even_reason: None,
    };
    let mut cached = tier("cached", TierKind::Cached, cached_mb_per_s, 10.0);
    (cached.alone, cached.break_even_per_gb, cached.per_gb_now) = (Some(0), Some(break_even), Some(1.0));
    vec![tier("disks", TierKind::Disks, 10.0, 5.0), cached, tier("flash", TierKind::Ssds, 50.0, 60.0)]
}

fn decide(
    policy: &PolicyVerdict,
    memory: &MemoryAdvice,
    tiers: &[PricedTier],
    varied: &[SensitivityResult],
) -> Recommendation {
    let (currency, dates) = ("EUR", "2026");
    recommend(&AdviceInputs {
        has_reads: true,
        policy,
        memory,
        footprint_bytes: 1000,
        storage_bytes: 1500,
        tiers,
        varied,
        currency,
        dates,
    })
}

fn lru() -> PolicyVerdict {
    PolicyVerdict::of(&ranking(&[("lru", 0.0, 0.0)]))
}

fn sentences(recommendation: &Recommendation, about: &str) -> String {
    let found = recommendation.sentences.iter().filter(|sentence| sentence.about == about);
    found.map(|sentence| sentence.text.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_policy_has_to_beat_lru_beyond_the_error_and_by_a_hundredth() {
    let verdict = |relative, error| {
        let verdict = PolicyVerdict::of(&ranking(&[("arc", relative, error), ("lru", 0.0, 0.0)]));
        (sentences(&decide(&verdict, &knee(), &tiers(30.0, 2.0), &[]), "policy"), verdict.policy)
    };
    let pair = |text: &str, policy: &str| (text.to_owned(), policy.to_owned());
    assert_eq!(verdict(-0.2, 0.05), pair("Use arc: it misses 20.0 % (± 5.0 %) less than LRU.", "arc"));
    assert_eq!(verdict(-0.2, 0.0), pair("Use arc: it misses 20.0 % less than LRU.", "arc"));
    let text = "Use LRU: the best, arc, misses 2.0 % (± 5.0 %) less, which is within the error.";
    assert_eq!(verdict(-0.02, 0.05), pair(text, "lru"));
    let text = "Use LRU: the best, arc, misses 0.5 % less, which is too little to matter.";
    assert_eq!(verdict(-0.005, 0.0), pair(text, "lru"));
    assert_eq!(
        sentences(&decide(&lru(), &knee(), &[], &[]), "policy"),
        "Use LRU: no other policy has a lower miss ratio."
    );
}

#[test]
fn memory_comes_with_the_effect_of_half_and_twice_as_much() {
    let made = decide(&lru(), &knee(), &[], &[]);
    assert_eq!(made.memory_bytes, 4 * 4096);
    let text = "Use 16 KiB of memory, 12.5 % of the size of all objects: lru then misses 10.0 %. More memory gains \
                little: with all objects cached, 10.0 % still miss.";
    assert_eq!(sentences(&made, "memory"), text);
    let text = "Half the memory (8 KiB) would miss 60.0 % instead of 10.0 %; twice as much, 32 KiB would miss 10.0 %.";
    assert_eq!(sentences(&made, "sensitivity"), text);
    let even = memory(&curve("lru", &[1.0, 0.8, 0.6, 0.4, 0.2, 0.0])).unwrap();
    let made = decide(&lru(), &even, &[], &[]);
    assert!(sentences(&made, "memory").contains("The curve has no knee"), "{}", sentences(&made, "memory"));
    assert!(sentences(&made, "sensitivity").starts_with("Half the memory is outside the measured curve"));
    let steps = memory(&curve("lru", &[1.0, 0.6, 0.6, 0.6, 0.1, 0.1, 0.1])).unwrap();
    let text = sentences(&decide(&lru(), &steps, &[], &[]), "memory");
    assert!(text.ends_with("Smaller knees: 8 KiB (60.0 % miss)."), "{text}");
    let one = memory(&curve("lru", &[0.25])).unwrap();
    let text = sentences(&decide(&lru(), &one, &[], &[]), "memory");
    assert!(text.ends_with("misses 25.0 %: only compulsory (cold) misses."), "{text}");
}

#[test]
fn a_tier_that_pays_is_recommended() {
    let made = decide(&lru(), &knee(), &tiers(30.0, 1.5), &[]);
    assert!(matches!(&made.ssd, SsdVerdict::Pays(pays) if pays.pays_at_half && !pays.pays_at_twice));
    let text = "An SSD tier pays at these prices (2026): cached is 3.00 times as fast as disks. Break-even price: 1.50 EUR \
                per GB; SSDs cost 1.00 EUR per GB. Lowest cost per MB/s: cached, an SSD before disks, 0.333 EUR, at 30.0 MB/s.";
    assert_eq!(sentences(&made, "ssd"), text);
    let text = "The SSD tier still pays with half the price of SSDs. It would not pay with twice the price of SSDs.";
    assert!(sentences(&made, "sensitivity").ends_with(text), "{}", sentences(&made, "sensitivity"));
}

#[test]
fn a_tier_that_does_not_pay_is_not() {
    let made = decide(&lru(), &knee(), &tiers(15.0, 0.6), &[]);
    assert!(matches!(&made.ssd, SsdVerdict::DoesNotPay(pays) if pays.pays_at_half && pays.times_as_fast == 1.5));
    assert!(sentences(&made, "ssd").starts_with("An SSD tier does not pay at these prices"));
    let text = "does not pay either with twice the price of SSDs. It would pay with half the price of SSDs.";
    assert!(sentences(&made, "sensitivity").ends_with(text), "{}", sentences(&made, "sensitivity"));
    let made = decide(&lru(), &knee(), &tiers(9.0, -0.1), &[]);
    assert!(sentences(&made, "ssd").contains("0.900 times as fast as disks. It pays at no price"));
    assert_eq!(made.cheapest.as_deref(), Some("disks"));
}

#[test]
fn a_sensitivity_names_the_changes_that_matter() {
    let varied = |change, pays| SensitivityResult {
        change,
        alone_mb_per_s: 1.0,
        cached_mb_per_s: 1.0,
        break_even_per_gb: None,
        pays,
    };
    let all = [
        varied(SensitivityChange::Memory(0.5), Some(true)),
        varied(SensitivityChange::Memory(2.0), Some(false)),
        varied(SensitivityChange::MemoryShare(0.04), Some(true)),
        varied(SensitivityChange::Cache(0.5), None),
        varied(SensitivityChange::Cache(2.0), Some(false)),
    ];
    let made = decide(&lru(), &knee(), &tiers(30.0, 3.0), &all);
    let text = "The SSD tier still pays with half the price of SSDs, twice the price of SSDs, half the memory, memory for \
                4 % of the data. It would not pay with twice the memory, twice the cache. It is unknown with half \
                the cache.";
    assert!(sentences(&made, "sensitivity").ends_with(text), "{}", sentences(&made, "sensitivity"));
}

#[test]
fn an_unknown_verdict_has_its_reason() {
    let made = decide(&lru(), &knee(), &tiers(30.0, 2.0)[..1], &[]);
    let text = "Whether an SSD tier pays is unknown: no arrangement has an SSD before disks.";
    assert!(sentences(&made, "ssd").starts_with(text));
    assert_eq!(best_cached(&tiers(30.0, 2.0)[..1]), None);
    let mut odd = tiers(30.0, 2.0);
    (odd[1].break_even_per_gb, odd[1].break_even_reason) = (None, Some("of a reason".to_owned()));
    assert!(sentences(&decide(&lru(), &knee(), &odd, &[]), "ssd").contains("is unknown: of a reason."));
    let (policy, memory) = (lru(), knee());
    let made = recommend(&AdviceInputs {
        has_reads: false,
        policy: &policy,
        memory: &memory,
        footprint_bytes: 1 << 20,
        storage_bytes: 20 << 20,
        tiers: &[],
        varied: &[],
        currency: "EUR",
        dates: "2026",
    });
    let text = sentences(&made, "caution");
    assert!(text.starts_with("The trace has no reads") && text.contains("1 MiB, and 20 MiB on storage"), "{text}");
    assert_eq!(made.cheapest, None);
}
