//! Tests of every verdict with made-up results.

use manometer_measure::Grade;

use super::memory::half_and_twice;
use super::memory::tests::curve;
use super::miss_counts::{MissCounts, TIME_BINS};
use super::policy_verdict::PolicyOutcome;
use super::*;

/// Misses that are the same in all blocks and groups.
fn even(factor: f64) -> MissCounts {
    let mut counts = MissCounts::NONE;
    counts.by_time.iter_mut().for_each(|misses| *misses = (1000.0 * factor) as u64);
    counts.by_keys.iter_mut().for_each(|misses| *misses = (16_000.0 * factor) as u64);
    counts
}

/// A policy with its difference to LRU, and the error of that.
fn ranked(policy: &str, relative: f64, error: Option<f64>) -> PolicyRank {
    PolicyRank {
        policy: policy.to_owned(),
        misses: even(1.0 + relative).total(),
        relative,
        error,
        requests_needed: error.is_none().then_some(9_000_000),
        miss_ratios: vec![0.1 * (1.0 + relative)],
        counts: even(1.0 + relative),
        shift: 0.0,
    }
}

fn ranking(policies: Vec<PolicyRank>) -> PolicyRanking {
    PolicyRanking {
        capacities: vec![4],
        requests: 1000,
        all_requests: 1000,
        rate: 1.0,
        exchange: 0.01,
        policies,
        bound: None,
    }
}

fn plain() -> PolicyRanking {
    ranking(vec![ranked("lru", 0.0, Some(0.0))])
}

/// LRU's advice for a curve.
fn memory(ratios: &[f64]) -> MemoryAdvice {
    let curve = curve("lru", ratios);
    let choice = MemoryChoice::of(&curve, |point| point.miss_ratio).unwrap();
    let [half, twice] = half_and_twice(choice.recommended.capacity);
    let beyond = MissPoint { capacity: twice, bytes: 4096 * twice, ..choice.all };
    let mut points = curve.points.clone();
    points.extend(Some(beyond).filter(|_| twice > choice.all.capacity));
    points.retain(|point| [half, twice].contains(&point.capacity));
    MemoryAdvice::new(choice, "lru", &ranking(Vec::new()), &points)
}

fn knee() -> MemoryAdvice {
    memory(&[1.0, 0.6, 0.1, 0.1, 0.1, 0.1])
}

/// Disks, and an SSD cache with a throughput and the interval of its break-even price; its price is 1, from 0.8 to 1.25.
fn tiers(cached_mb_per_s: f64, break_even: [f64; 2]) -> Vec<PricedTier> {
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
        break_even_interval: None,
        per_gb_now: None,
        per_gb_interval: None,
        break_even_reason: None,
    };
    let mut cached = tier("cached", TierKind::Cached, cached_mb_per_s, 10.0);
    let middle = f64::midpoint(break_even[0], break_even[1]);
    (cached.alone, cached.break_even_per_gb, cached.break_even_interval) = (Some(0), Some(middle), Some(break_even));
    (cached.per_gb_now, cached.per_gb_interval) = (Some(1.0), Some([0.8, 1.25]));
    vec![tier("disks", TierKind::Disks, 10.0, 5.0), cached, tier("flash", TierKind::Ssds, 50.0, 60.0)]
}

/// What is decided, where the data are too large for memory.
struct Case {
    ranking: PolicyRanking,
    memory: MemoryAdvice,
    tiers: Vec<PricedTier>,
    varied: Vec<SensitivityResult>,
    footprint_bytes: u64,
    old_years: Option<f64>,
    has_reads: bool,
    is_whole: bool,
}

impl Case {
    fn new() -> Self {
        Self {
            ranking: plain(),
            memory: knee(),
            tiers: Vec::new(),
            varied: Vec::new(),
            footprint_bytes: SMALL_MACHINE_MEMORY + 1,
            old_years: None,
            has_reads: true,
            is_whole: true,
        }
    }

    fn decide(&self) -> Recommendation {
        let all_fit = self.memory.recommended.capacity == self.memory.all.capacity;
        recommend(&AdviceInputs {
            has_reads: self.has_reads,
            is_whole: self.is_whole,
            is_lru_sampled: false,
            ranking: &self.ranking,
            policy: &PolicyVerdict::of(&self.ranking, all_fit),
            memory: &self.memory,
            footprint_bytes: self.footprint_bytes,
            storage_bytes: self.footprint_bytes,
            tiers: &self.tiers,
            varied: &self.varied,
            prices: NamedPrices { currency: "EUR", dates: "2026", old_years: self.old_years },
        })
    }
}

fn sentences(recommendation: &Recommendation, about: &str) -> String {
    let found = recommendation.sentences.iter().filter(|sentence| sentence.about == about);
    found.map(|sentence| sentence.text.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_policy_has_to_beat_lru_beyond_its_interval_and_by_a_hundredth() {
    let verdict = |relative, error| {
        let ranking = ranking(vec![ranked("arc", relative, error), ranked("lru", 0.0, Some(0.0))]);
        let made = Case { ranking, ..Case::new() }.decide();
        (sentences(&made, "policy"), made.policy.policy, made.policy.outcome)
    };
    let (text, policy, outcome) = verdict(-0.2, Some(0.05));
    assert_eq!((policy.as_str(), outcome), ("arc", PolicyOutcome::Winner));
    let expected = "Use arc: with 16 KiB it misses 20.0 % less than LRU on this trace, exactly simulated, and 15.0 to 25.0 % \
                    less on such traffic (95 % interval for the best of 2).";
    assert_eq!(text, expected);
    let (text, policy, outcome) = verdict(-0.02, Some(0.05));
    assert_eq!((policy.as_str(), outcome), ("lru", PolicyOutcome::NoClearWinner));
    let expected = "Use LRU: no clear winner with 16 KiB. The fewest misses has arc, 2.0 % less than LRU on this trace, \
                    exactly simulated, and 3.0 % more to 7.0 % less on such traffic (95 % interval for the best of 2).";
    assert_eq!(text, expected);
    let (text, policy, outcome) = verdict(-0.005, Some(0.001));
    assert_eq!((policy.as_str(), outcome), ("lru", PolicyOutcome::NoGain));
    assert_eq!(text, "Use LRU: with 16 KiB no policy misses at least 1.0 % less on this trace, exactly simulated.");
    let (text, policy, outcome) = verdict(-0.2, None);
    assert_eq!((policy.as_str(), outcome), ("lru", PolicyOutcome::TooShort));
    let expected = "No policy is advised, and LRU assumed: with 16 KiB the trace is too short to compare policies; about \
                    9 000 000 requests are needed if a longer trace calls for the same memory, and it has 1 000 requests. On this trace itself arc misses 20.0 % less \
                    than LRU.";
    assert_eq!(text, expected);
}

#[test]
fn a_clear_winner_is_recommended_though_an_unclear_one_misses_less() {
    let policies = vec![ranked("mru", -0.3, None), ranked("arc", -0.2, Some(0.1)), ranked("lru", 0.0, Some(0.0))];
    let made = Case { ranking: ranking(policies), ..Case::new() }.decide();
    assert_eq!((made.policy.policy.as_str(), made.policy.best.as_str(), made.policy.relative), ("arc", "arc", -0.2));
    assert_eq!(made.policy.uncompared, ["mru"], "it has an interval against arc, and none against LRU");
}

#[test]
fn a_policy_that_the_trace_is_too_short_to_compare_is_neither_equal_nor_worse() {
    let mut drifting = ranked("mru", -0.3, None);
    for (at, misses) in drifting.counts.by_time.iter_mut().enumerate() {
        *misses = if at < TIME_BINS / 2 { 0 } else { 2 * *misses };
    }
    let policies = vec![drifting, ranked("arc", -0.2, Some(0.1)), ranked("lru", 0.0, Some(0.0))];
    let made = Case { ranking: ranking(policies), ..Case::new() }.decide();
    assert_eq!((made.policy.policy.as_str(), &made.policy.similar[..]), ("arc", &[][..]));
    assert_eq!((&made.policy.uncompared[..], made.policy.grade()), (&["mru".to_owned()][..], Grade::Indicative));
    let expected = "mru misses 30.0 % less than LRU on this trace, which is too short to say what other traffic would \
                    show of mru.";
    assert!(sentences(&made, "policy").ends_with(expected), "{}", sentences(&made, "policy"));
}

#[test]
fn an_estimate_from_a_sample_is_said_to_be_one() {
    let policies = vec![ranked("arc", -0.2, Some(0.1)), ranked("lru", 0.0, Some(0.0))];
    let made = Case { ranking: PolicyRanking { rate: 0.05, ..ranking(policies) }, ..Case::new() }.decide();
    assert!(sentences(&made, "policy").contains("less than LRU, estimated from 5.0 % of the keys, and 10.0"));
}

#[test]
fn where_all_objects_fit_no_policy_is_better() {
    let policies = vec![ranked("arc", -0.2, Some(0.1)), ranked("lru", 0.0, Some(0.0))];
    let memory = memory(&[0.25]);
    let made = Case { ranking: ranking(policies), memory, ..Case::new() }.decide();
    assert_eq!((made.policy.policy.as_str(), made.policy.outcome), ("lru", PolicyOutcome::AllFit));
    assert_eq!(sentences(&made, "policy"), "Use LRU: with 4 KiB all objects fit, and the policy makes no difference.");
    assert!(sentences(&made, "memory").ends_with("misses 25.0 %: only compulsory (cold) misses."));
    assert_eq!(made.verdict.reasons[0], "a longer trace may touch more objects");
}

#[test]
fn memory_comes_with_the_effect_of_half_and_twice_as_much() {
    let made = Case::new().decide();
    assert_eq!(made.memory_bytes, 4 * 4096);
    let text = "Use 16 KiB of memory, 12.5 % of the size of all objects: lru then misses 10.0 %. It is the last knee of \
                LRU's curve; with all objects cached, 10.0 % still miss.";
    assert_eq!(sentences(&made, "memory"), text);
    let text = "Half the memory (8 KiB) would miss 60.0 % instead of 10.0 %; twice as much, 32 KiB, would miss 10.0 %.";
    assert_eq!(sentences(&made, "sensitivity"), text);
    let even = memory(&[1.0, 0.8, 0.6, 0.4, 0.2, 0.0]);
    let made = Case { memory: even, ..Case::new() }.decide();
    let text = "Use 8 KiB of memory, 6.2 % of the size of all objects: lru then misses 80.0 %. LRU's curve has no knee: more \
                memory reduces LRU's misses up to 128 KiB, where 0.0 % miss. Choose by budget.";
    assert_eq!(sentences(&made, "memory"), text);
    assert!(
        sentences(&made, "sensitivity").starts_with("Half the memory (4 KiB) would miss 100.0 % instead of 80.0 %")
    );
    assert_eq!(made.verdict.reasons[0], "LRU's curve has no knee");
    let steps = memory(&[1.0, 0.6, 0.6, 0.6, 0.1, 0.1, 0.1]);
    let text = sentences(&Case { memory: steps, ..Case::new() }.decide(), "memory");
    assert!(text.ends_with("Smaller knees: 8 KiB (60.0 % miss with LRU)."), "{text}");
}

#[test]
fn a_cliff_is_said() {
    let made = Case { memory: memory(&[1.0, 1.0, 1.0, 1.0, 0.02]), ..Case::new() }.decide();
    let text = "Use 64 KiB of memory, 100.0 % of the size of all objects: lru then misses 2.0 %: only compulsory (cold) \
                misses. LRU's curve has a cliff there: only 64 KiB and more help, with 32 KiB LRU misses 100.0 %.";
    assert_eq!(sentences(&made, "memory"), text);
    let text = "Half the memory (32 KiB) would miss 100.0 % instead of 2.0 %; more memory would change nothing.";
    assert_eq!(sentences(&made, "sensitivity"), text);
    let made = Case { memory: memory(&[0.9, 0.9, 0.9, 0.9, 0.8, 0.1]), ..Case::new() }.decide();
    let text = ": only compulsory (cold) misses. LRU's curve has a cliff there: with 64 KiB LRU still misses 80.0 %.";
    assert!(sentences(&made, "memory").ends_with(text), "{}", sentences(&made, "memory"));
}

#[test]
fn more_memory_is_not_said_to_help_where_it_does_not() {
    let said = |ratios: &[f64]| sentences(&Case { memory: memory(ratios), ..Case::new() }.decide(), "memory");
    let text = said(&[0.44; 6]);
    assert!(text.starts_with("Use 4 KiB of memory, 3.1 % of the size of all objects: lru then misses 44.0 %. LRU's "));
    let expected = "has no knee, and more memory does not help LRU: with all objects cached, 44.0 % still miss.";
    assert!(text.ends_with(expected), "{text}");
    let text = said(&[0.44001, 0.44001, 0.44001, 0.44001, 0.44001, 0.44, 0.44, 0.44, 0.44]);
    assert!(text.starts_with("Use 4 KiB of memory") && text.contains("the misses of the last knee"), "{text}");
    let text = said(&[0.7, 0.7, 0.7, 0.7, 0.6, 0.5]);
    let expected =
        "more memory reduces LRU's misses only from 64 KiB on, up to 128 KiB, where 50.0 % miss. Choose by budget.";
    assert!(text.ends_with(expected), "{text}");
    let text = said(&[0.7, 0.7, 0.7, 0.7, 0.7, 0.6]);
    assert!(
        text.ends_with("only 128 KiB and more reduce LRU's misses further, to 60.0 %. Choose by budget."),
        "{text}"
    );
}

#[test]
fn without_hits_no_memory_is_recommended() {
    let mut case = Case { memory: memory(&[1.0, 1.0, 1.0]), ..Case::new() };
    let made = case.decide();
    let text = "No memory is recommended: no cache reduces misses, because every request is the first for its object.";
    assert_eq!((sentences(&made, "memory").as_str(), made.memory_bytes), (text, 0));
    assert_eq!(sentences(&made, "sensitivity"), "");
    assert_eq!(made.verdict.reasons[0], "a longer trace may request objects more often");
    case.memory = memory(&[1.0, 1.0, 0.9997]);
    let text = "No memory is recommended: with all objects cached, 100.0 % still miss.";
    assert_eq!(sentences(&case.decide(), "memory"), text);
}

#[test]
fn of_a_damaged_trace_nothing_is_sound() {
    let policies = vec![ranked("arc", -0.2, Some(0.05)), ranked("lru", 0.0, Some(0.0))];
    let case = Case { ranking: ranking(policies), footprint_bytes: 1 << 20, ..Case::new() };
    let sound =
        |made: &Recommendation| made.sentences.iter().filter(|sentence| sentence.grade == Some(Grade::Sound)).count();
    assert_eq!(sound(&case.decide()), 4);
    let made = Case { is_whole: false, ..case }.decide();
    assert_eq!((sound(&made), made.verdict.grade), (0, Grade::Indicative));
    let made = Case { is_whole: false, memory: memory(&[0.25]), ..Case::new() }.decide();
    assert_eq!((sound(&made), made.policy.outcome), (0, PolicyOutcome::AllFit));
}

#[test]
fn memory_has_the_misses_of_the_recommended_policy() {
    let ranking = ranking(vec![ranked("arc", -0.2, Some(0.05)), ranked("lru", 0.0, Some(0.0))]);
    let curve = curve("lru", &[1.0, 0.6, 0.1, 0.1, 0.1, 0.1]);
    let choice = MemoryChoice::of(&curve, |point| point.miss_ratio).unwrap();
    let half = MissPoint { miss_ratio: 0.5, ..curve.points[1] };
    let memory = MemoryAdvice::new(choice, "arc", &ranking, &[half]);
    let made = Case { ranking, memory, ..Case::new() }.decide();
    assert!(
        sentences(&made, "memory").contains("arc then misses 8.0 % (LRU 10.0 %)"),
        "{}",
        sentences(&made, "memory")
    );
    assert!(sentences(&made, "sensitivity").starts_with("Half the memory (8 KiB) would miss 50.0 % instead of 8.0 %"));
}

#[test]
fn a_tier_that_pays_beyond_the_errors_is_recommended() {
    let made = Case { tiers: tiers(30.0, [1.25, 1.75]), ..Case::new() }.decide();
    assert_eq!((made.ssd.verdict, made.ssd.grade()), (TierOutcome::Pays, Grade::Indicative));
    let comparison = made.ssd.comparison.as_ref().unwrap();
    assert!(comparison.pays_at_half && !comparison.pays_at_twice);
    let text = "An SSD tier pays at these prices (2026): cached is 3.00 times as fast as disks (1.36 to 6.60 with the \
                model's error). Break-even price: 1.50 EUR per GB (1.25 to 1.75); SSDs cost 1.00 EUR per GB (0.800 to 1.25). \
                Lowest cost per MB/s in the model: cached, an SSD before disks, 0.333 EUR, at 30.0 MB/s. Within the model's \
                error: disks.";
    assert_eq!(sentences(&made, "ssd"), text);
    let text = "With half the price of SSDs it pays. With twice the price of SSDs it is too close to call.";
    assert!(sentences(&made, "sensitivity").ends_with(text), "{}", sentences(&made, "sensitivity"));
    assert_eq!(made.verdict.grade, Grade::Indicative);
}

#[test]
fn a_tier_within_the_errors_is_too_close_to_call() {
    let made = Case { tiers: tiers(30.0, [1.24, 1.75]), ..Case::new() }.decide();
    assert_eq!((made.ssd.verdict, made.ssd.grade()), (TierOutcome::TooCloseToCall, Grade::Void));
    assert!(
        sentences(&made, "ssd").starts_with("Whether an SSD tier pays is too close to call at these prices (2026)")
    );
    let json = serde_json::to_value(&made.ssd).unwrap();
    assert_eq!((&json["verdict"], &json["break_even_interval"][0]), (&"too-close-to-call".into(), &1.24.into()));
    assert_eq!(
        made.verdict.reasons,
        ["policies were compared on one trace", "whether a tier pays is too close to call"]
    );
}

#[test]
fn a_tier_that_does_not_pay_beyond_the_errors_is_not() {
    let made = Case { tiers: tiers(15.0, [0.5, 0.7]), ..Case::new() }.decide();
    assert_eq!(made.ssd.verdict, TierOutcome::DoesNotPay);
    assert!(sentences(&made, "ssd").starts_with("An SSD tier does not pay at these prices"));
    let text = "With half the price of SSDs it is too close to call. With twice the price of SSDs it does not pay.";
    assert!(sentences(&made, "sensitivity").ends_with(text), "{}", sentences(&made, "sensitivity"));
    let made = Case { tiers: tiers(9.0, [-0.3, -0.1]), ..Case::new() }.decide();
    assert!(sentences(&made, "ssd").contains("with the model's error). It pays at no price"));
    assert_eq!(made.cheapest.as_deref(), Some("disks"));
}

#[test]
fn no_tier_is_recommended_for_what_fits_into_the_memory_of_a_small_machine() {
    let pays = tiers(30.0, [5.0, 9.0]);
    let case = Case { tiers: pays, footprint_bytes: SMALL_MACHINE_MEMORY, old_years: Some(11.0), ..Case::new() };
    let made = case.decide();
    assert_eq!((made.ssd.verdict, made.ssd.grade()), (TierOutcome::DoesNotPay, Grade::Sound));
    let text = "No SSD tier is recommended: all that the trace touches, 4 GiB, fits into 4 GiB, the memory of a small \
                machine. Reads then need no other storage.";
    assert_eq!(sentences(&made, "ssd"), text);
    assert!(!sentences(&made, "sensitivity").contains("price") && sentences(&made, "caution").is_empty());
    let larger = Case { footprint_bytes: SMALL_MACHINE_MEMORY + 1, ..case }.decide();
    assert_eq!(larger.ssd.verdict, TierOutcome::Pays);
}

#[test]
fn old_prices_are_said_to_be_old() {
    let made = Case { tiers: tiers(30.0, [1.5, 1.75]), old_years: Some(10.9), ..Case::new() }.decide();
    assert!(sentences(&made, "ssd").contains("at these prices (2026, 11 years old)"), "{}", sentences(&made, "ssd"));
    let text = "The prices are of 2026, 11 years ago, and say little of today's: name your own with --prices.";
    assert_eq!(sentences(&made, "caution"), text);
    assert!(made.verdict.reasons.contains(&"the prices are old".to_owned()));
}

#[test]
fn a_sensitivity_names_the_changes_that_matter() {
    let varied = |change, verdict: TierOutcome| SensitivityResult {
        change,
        alone_mb_per_s: 1.0,
        cached_mb_per_s: 1.0,
        break_even_per_gb: None,
        break_even_interval: None,
        pays: verdict.pays(),
        verdict,
    };
    let all = vec![
        varied(SensitivityChange::Memory(0.5), TierOutcome::Pays),
        varied(SensitivityChange::Memory(2.0), TierOutcome::DoesNotPay),
        varied(SensitivityChange::MemoryShare(0.04), TierOutcome::Pays),
        varied(SensitivityChange::Cache(0.5), TierOutcome::Unknown),
        varied(SensitivityChange::Cache(2.0), TierOutcome::TooCloseToCall),
    ];
    let made = Case { tiers: tiers(30.0, [3.0, 4.0]), varied: all, ..Case::new() }.decide();
    let text = "With half the price of SSDs, twice the price of SSDs, half the memory, memory for 4 % of the data it pays. \
                With twice the cache it is too close to call. With twice the memory it does not pay. With half the cache it \
                is unknown.";
    assert!(sentences(&made, "sensitivity").ends_with(text), "{}", sentences(&made, "sensitivity"));
}

#[test]
fn an_unknown_verdict_has_its_reason() {
    let disks = tiers(30.0, [2.0, 3.0])[..1].to_vec();
    assert_eq!(best_cached(&disks), None);
    let made = Case { tiers: disks, ..Case::new() }.decide();
    let text = "Whether an SSD tier pays is unknown: no arrangement has an SSD before disks.";
    assert!(sentences(&made, "ssd").starts_with(text));
    let mut odd = tiers(30.0, [2.0, 3.0]);
    (odd[1].break_even_per_gb, odd[1].break_even_reason) = (None, Some("of a reason".to_owned()));
    assert!(sentences(&Case { tiers: odd, ..Case::new() }.decide(), "ssd").contains("is unknown: of a reason."));
}

#[test]
fn nothing_is_concluded_from_a_short_trace_without_a_tier() {
    let policies = vec![ranked("arc", -0.2, None), ranked("lru", 0.0, None)];
    let made = Case { ranking: ranking(policies), ..Case::new() }.decide();
    assert_eq!((made.verdict.grade, made.cheapest.as_deref()), (Grade::Void, None));
    let sound =
        Case { ranking: ranking(vec![ranked("arc", -0.2, Some(0.1)), ranked("lru", 0.0, Some(0.0))]), ..Case::new() };
    let sound = Case { footprint_bytes: 1 << 20, ..sound }.decide();
    assert_eq!((sound.verdict.grade, &sound.verdict.reasons[..]), (Grade::Sound, &[][..]));
}

#[test]
fn cautions_are_given_where_they_apply() {
    let case = Case { has_reads: false, ..Case::new() };
    assert!(sentences(&case.decide(), "caution").starts_with("The trace has no reads"));
    let (ranking, memory) = (plain(), knee());
    let made = recommend(&AdviceInputs {
        has_reads: true,
        is_whole: false,
        is_lru_sampled: true,
        ranking: &ranking,
        policy: &PolicyVerdict::of(&ranking, false),
        memory: &memory,
        footprint_bytes: 1 << 20,
        storage_bytes: 20 << 20,
        tiers: &[],
        varied: &[],
        prices: NamedPrices { currency: "EUR", dates: "2026", old_years: None },
    });
    assert!(sentences(&made, "caution").contains("1 MiB, and 20 MiB on storage"), "{}", sentences(&made, "caution"));
    assert_eq!(made.verdict.reasons[..2], ["the trace is damaged", "LRU's curve is of a sample of the keys"]);
}
