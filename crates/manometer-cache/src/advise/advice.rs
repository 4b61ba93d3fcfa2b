//! Analyses a trace and recommends a cache.

use manometer_measure::ByteSize;
use manometer_trace::TraceError;
use manometer_trace::character::{Character, CharacterOptions, Report};
use serde::Serialize;

use super::replay::{CHANGES, ReplayInput, ReplayResult, changed, with_origins};
use super::{
    AdviceBasis, AdviceInputs, CacheAnalysis, MemoryAdvice, NamedPrices, OpenTrace, PolicyCurve, PolicyRanking,
    PricedTier, Recommendation, SensitivityChange, SensitivityResult, TierOutcome, TierSizes, TraceTraits, WORKLOAD,
    best_cached, price, recommend, shipped,
};
use crate::CacheError;
use crate::cost::{self, CostGoal, Prices, is_price_old, price_age_years};
use crate::tier::Arrangement;

/// The most requests that are replayed.
const REPLAYED_MAX: u64 = 1_000_000;

/// The parameters of an analysis.
#[derive(Debug)]
pub struct AdviseRequest {
    /// The name of the trace.
    pub name: String,
    /// The size of objects without a size in the trace.
    pub object_size: ByteSize,
    /// The number of requests in flight during the replay.
    pub threads: u32,
    /// The arrangements; if empty, the shipped ones, sized for the trace.
    pub arrangements: Vec<Arrangement>,
    /// The prices of devices.
    pub prices: Prices,
    /// The name of the price file.
    pub prices_name: String,
    /// The goals of an arrangement on the [`WORKLOAD`].
    pub goals: Vec<CostGoal>,
    /// Today, in seconds since the Unix epoch: prices grow old.
    pub today_unix_s: u64,
}

/// How the trace was replayed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplaySummary {
    /// The number of replayed requests.
    pub requests: u64,
    /// The number of requests in flight.
    pub threads: u32,
    /// Bytes of storage that they touch.
    pub storage_bytes: u64,
    /// The sizes of the levels; null for named arrangements, which have their own sizes.
    pub sizes: Option<TierSizes>,
}

/// The prices used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PriceSummary {
    /// The name of their file.
    pub name: String,
    /// Their currency.
    pub currency: String,
    /// The dates of the prices of the devices in use.
    pub dates: String,
    /// The age in years of the oldest of them.
    pub age_years: f64,
    /// Whether they are too old to say much about today's.
    pub is_old: bool,
    /// Whether prices per GB were used; costs are then per GB of data.
    pub is_per_gb: bool,
}

impl PriceSummary {
    /// What a cost is in.
    pub fn cost_unit(&self) -> String {
        if self.is_per_gb { format!("{} per GB of data", self.currency) } else { self.currency.clone() }
    }
}

/// The arrangements that reach the goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GoalSummary {
    /// The goals as given.
    pub goals: Vec<String>,
    /// The arrangements that reach it with their costs ([`PriceSummary::cost_unit`]), cheapest first.
    pub meeting: Vec<(String, f64)>,
}

/// The analysis of a trace and the recommendation.
#[derive(Debug, Serialize)]
pub struct Advice {
    /// The name of the trace.
    pub trace: String,
    /// Its character.
    pub character: TraceTraits,
    /// The part of the trace that was analysed.
    pub basis: AdviceBasis,
    /// Requests that no cache serves.
    pub left_out: u64,
    /// All policies at the recommended size.
    pub ranking: PolicyRanking,
    /// The curves of the best policies, of LRU, and last of OPT; at the recommended size with the ranking's figures.
    pub curves: Vec<PolicyCurve>,
    /// The recommended amount of memory.
    pub memory: MemoryAdvice,
    /// How the trace was replayed.
    pub replay: ReplaySummary,
    /// Throughput and cost of the arrangements.
    pub tiers: Vec<PricedTier>,
    /// The sensitivity of the cheapest arrangement with a cache.
    pub varied: Vec<SensitivityResult>,
    /// The prices used.
    pub prices: PriceSummary,
    /// The arrangements that reach the goal.
    pub goal: Option<GoalSummary>,
    /// The recommendation.
    pub recommendation: Recommendation,
    /// The damage that ended the trace, if any.
    #[serde(skip)]
    pub damage: Option<TraceError>,
}

/// Analyses a trace and recommends a cache.
///
/// # Errors
/// The trace cannot be opened or has no requests, or prices or arrangements do not fit it.
pub fn advise(opens: OpenTrace<'_>, request: &AdviseRequest) -> Result<Advice, CacheError> {
    let (report, damage) = read_character(opens)?;
    let cache = CacheAnalysis::of(opens, &report, request.object_size.0)?;
    let footprint_bytes = cache.basis.bytes(cache.footprint.round() as u64);
    let character = TraceTraits::of(&report, footprint_bytes);
    let curves = cache.curves(opens)?;
    let tiers = TierAnalysis::of(opens, request, cache.memory.recommended.bytes)?;
    let recommendation = recommend(&AdviceInputs {
        has_reads: character.reads_share > 0.0,
        is_whole: damage.is_none(),
        is_lru_sampled: cache.basis.is_lru_sampled,
        ranking: &cache.ranking,
        policy: &cache.policy,
        memory: &cache.memory,
        footprint_bytes,
        storage_bytes: tiers.replay.storage_bytes,
        tiers: &tiers.tiers,
        varied: &tiers.varied,
        prices: NamedPrices {
            currency: &tiers.prices.currency,
            dates: &tiers.prices.dates,
            old_years: tiers.prices.is_old.then_some(tiers.prices.age_years),
        },
    });
    let CacheAnalysis { basis, left_out, ranking, memory, .. } = cache;
    let TierAnalysis { replay, tiers, varied, prices, goal } = tiers;
    let trace = request.name.clone();
    Ok(Advice {
        trace,
        character,
        basis,
        left_out,
        ranking,
        curves,
        memory,
        replay,
        tiers,
        varied,
        prices,
        goal,
        recommendation,
        damage,
    })
}

/// The character of a trace, and the damage that ended it.
///
/// # Errors
/// The trace cannot be opened.
pub fn read_character(opens: OpenTrace<'_>) -> Result<(Report, Option<TraceError>), CacheError> {
    let mut trace = opens()?;
    let (mut character, mut batch) = (Character::new(CharacterOptions::default()), Vec::new());
    let damage = loop {
        match trace.read(&mut batch) {
            Ok(0) => break None,
            Ok(_) => character.add(&batch),
            Err(error) => break Some(error),
        }
    };
    Ok((character.report(), damage))
}

/// What a trace says about tiers.
struct TierAnalysis {
    replay: ReplaySummary,
    tiers: Vec<PricedTier>,
    varied: Vec<SensitivityResult>,
    prices: PriceSummary,
    goal: Option<GoalSummary>,
}

impl TierAnalysis {
    /// Replays the trace on the arrangements, with so much memory if they are the shipped ones, and prices them.
    fn of(opens: OpenTrace<'_>, request: &AdviseRequest, memory_bytes: u64) -> Result<Self, CacheError> {
        let prices = &request.prices;
        let replayed = ReplayInput::read(&mut *opens()?, REPLAYED_MAX, request.threads, request.object_size)?;
        let sizes = request.arrangements.is_empty().then(|| TierSizes::of(replayed.bytes(), memory_bytes));
        let arrangements = match &sizes {
            Some(sizes) => shipped(sizes)?,
            None => with_origins(request.arrangements.clone()),
        };
        check_prices(&arrangements, prices)?;
        let ran = replayed.on(arrangements)?;
        let priced = price(&ran, prices)?;
        let dates = dates(&ran, prices)?;
        let ages = dates.iter().map(|date| price_age_years(date, request.today_unix_s));
        let age_years = ages.fold(0.0, f64::max);
        Ok(Self {
            varied: vary(&ran, &priced.tiers, &replayed, prices)?,
            goal: goal(&request.goals, &priced.outcomes, &priced.costs)?,
            replay: ReplaySummary {
                requests: replayed.requests(),
                threads: request.threads,
                storage_bytes: replayed.bytes(),
                sizes,
            },
            prices: PriceSummary {
                name: request.prices_name.clone(),
                currency: prices.currency.clone(),
                dates: dates.join(", "),
                age_years,
                is_old: is_price_old(age_years),
                is_per_gb: priced.is_per_gb,
            },
            tiers: priced.tiers,
        })
    }
}

/// Checks that every device has a price, before anything is replayed.
fn check_prices(arrangements: &[Arrangement], prices: &Prices) -> Result<(), CacheError> {
    devices(arrangements.iter()).try_for_each(|device| prices.of(device).map(|_| ()))
}

fn devices<'a>(arrangements: impl Iterator<Item = &'a Arrangement>) -> impl Iterator<Item = &'a str> {
    arrangements.flat_map(|arrangement| {
        let cache = arrangement.cache.iter().map(|cache| cache.device.as_str());
        std::iter::once(arrangement.origin.device.as_str()).chain(cache)
    })
}

/// The dates of the prices of the devices in use.
fn dates(ran: &[ReplayResult], prices: &Prices) -> Result<Vec<String>, CacheError> {
    let dates = devices(ran.iter().map(|ran| &ran.arrangement)).map(|device| Ok(prices.of(device)?.date.clone()));
    let mut dates = dates.collect::<Result<Vec<String>, CacheError>>()?;
    dates.sort_unstable();
    dates.dedup();
    Ok(dates)
}

/// The throughput of the arrangement with a cache and the lowest cost per MB/s after each change, and of its origin
/// alone.
fn vary(
    ran: &[ReplayResult],
    tiers: &[PricedTier],
    replayed: &ReplayInput,
    prices: &Prices,
) -> Result<Vec<SensitivityResult>, CacheError> {
    let Some(best) = best_cached(tiers) else { return Ok(Vec::new()) };
    let Some(alone) = tiers[best].alone else { return Ok(Vec::new()) };
    let pair = |change: SensitivityChange| {
        let cached = changed(&ran[best].arrangement, change)?;
        let memory = SensitivityChange::Memory(1.0);
        let alone = &ran[alone].arrangement;
        let alone = changed(alone, if matches!(change, SensitivityChange::Cache(_)) { memory } else { change })?;
        Some((change, [alone, cached]))
    };
    let (changes, pairs): (Vec<SensitivityChange>, Vec<[Arrangement; 2]>) =
        CHANGES.into_iter().filter_map(pair).unzip();
    let again = replayed.on(pairs.into_iter().flatten().collect())?;
    let varied = changes.into_iter().zip(again.chunks(2)).map(|(change, pair)| {
        let tiers = price(pair, prices)?.tiers;
        let intervals = tiers[1].break_even_interval.zip(tiers[1].per_gb_interval);
        let verdict = intervals.map_or(TierOutcome::Unknown, |(even, now)| TierOutcome::of(even, now));
        Ok(SensitivityResult {
            change,
            alone_mb_per_s: tiers[0].mb_per_s,
            cached_mb_per_s: tiers[1].mb_per_s,
            break_even_per_gb: tiers[1].break_even_per_gb,
            break_even_interval: tiers[1].break_even_interval,
            pays: verdict.pays(),
            verdict,
        })
    });
    varied.collect()
}

fn goal(
    goals: &[CostGoal],
    outcomes: &[cost::ArrangementResult],
    costs: &[cost::ArrangementCost],
) -> Result<Option<GoalSummary>, CacheError> {
    if goals.is_empty() {
        return Ok(None);
    }
    let goals: Vec<CostGoal> =
        goals.iter().map(|goal| CostGoal { workload: WORKLOAD.to_owned(), ..goal.clone() }).collect();
    let meeting = cost::evaluate_goals(&goals, outcomes, costs)?.meeting;
    Ok(Some(GoalSummary { goals: goals.iter().map(ToString::to_string).collect(), meeting }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::basis::tests_trace;
    use crate::advise::{SHIPPED_PRICES, TierKind};
    use manometer_measure::Grade;

    /// 2026-11-26, within a year of the shipped prices.
    const TODAY: u64 = 1_795_651_200;

    fn request() -> AdviseRequest {
        AdviseRequest {
            name: "a trace".to_owned(),
            object_size: ByteSize(4096),
            threads: 4,
            arrangements: Vec::new(),
            prices: Prices::read(SHIPPED_PRICES.0, SHIPPED_PRICES.1).unwrap(),
            prices_name: SHIPPED_PRICES.0.to_owned(),
            goals: vec!["trace>=0.001MB/s".parse().unwrap()],
            today_unix_s: TODAY,
        }
    }

    fn advised(text: &str) -> Advice {
        advise(&|| Ok(tests_trace(text)), &request()).unwrap()
    }

    #[test]
    fn a_trace_leads_to_a_decision() {
        let text: String = (0..4000_u64).map(|request| format!("{}\n", request * request % 1009)).collect();
        let advice = advised(&text);
        assert_eq!((advice.character.requests, advice.character.footprint_bytes), (4000, 505 * 4096));
        assert_eq!(advice.character.reads_share, 1.0);
        assert_eq!(advice.character.zipf_keys.is_some(), advice.character.zipf_exponent.is_some());
        assert!((6..=7).contains(&advice.curves.len()));
        assert_eq!(advice.curves.last().unwrap().policy, "opt");
        for curve in &advice.curves {
            let point = curve.points.iter().find(|point| point.capacity == advice.ranking.capacities[0]).unwrap();
            assert_eq!(Some(point.miss_ratio), advice.ranking.of(&curve.policy).map(|ranked| ranked.miss_ratios[0]));
            for named in [advice.memory.half, advice.memory.twice].into_iter().flatten() {
                let is_drawn = curve.points.iter().any(|point| point.capacity == named.capacity);
                assert_eq!(is_drawn, named.capacity <= advice.memory.all.capacity, "{named:?}");
            }
        }
        assert_eq!((advice.tiers.len(), advice.replay.requests, advice.replay.threads), (7, 4000, 4));
        assert!(advice.varied.len() >= 4);
        assert!(!advice.prices.is_old && advice.prices.age_years > 0.0, "{:?}", advice.prices);
        assert_eq!(advice.goal.as_ref().unwrap().meeting.len(), 7);
        let ssd = &advice.recommendation.ssd;
        assert_eq!((ssd.verdict, ssd.grade()), (TierOutcome::DoesNotPay, Grade::Sound), "it fits into memory");
        assert!(advice.tiers.iter().any(|tier| tier.tier == TierKind::Ssds));
    }

    #[test]
    fn a_trace_of_one_key_and_one_of_writes_are_advised_on() {
        let one = advised("7\n7\n7\n7\n");
        assert_eq!((one.memory.recommended.capacity, one.recommendation.policy.policy.as_str()), (1, "lru"));
        let writes: String = (0..500).map(|at| format!("{at},{},4096,put\n", at % 100)).collect();
        let writes = advised(&format!("time,key,size,op\n{writes}"));
        assert_eq!((writes.character.reads_share, writes.character.writes_share), (0.0, 1.0));
        assert!(writes.recommendation.sentences.iter().any(|sentence| sentence.about == "caution"));
    }
}
