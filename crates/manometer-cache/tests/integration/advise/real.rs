//! Every real trace in place. `ADVISE_REQUESTS` sets how much of each is used; `make soak` uses all.

use std::path::{Path, PathBuf};

use manometer_cache::advise::{CacheAnalysis, MemoryReason, PolicyOutcome};
use manometer_measure::human::percent;
use manometer_testing::real_data;
use manometer_trace::{ReadOptions, TraceReader, open};

use super::{ExactMisses, Part, about, analyse, sentences};

/// Requests of each trace, unless the environment says otherwise.
const REQUESTS: usize = 30_000;
/// What lies beside the traces.
const OTHERS: [&str; 4] = ["README", "LICENSE", "config_", ".json"];

fn traces() -> Vec<PathBuf> {
    let Some(folder) = real_data("traces") else { return Vec::new() };
    let mut files = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            match path.is_dir() {
                true => folders.push(path),
                false if OTHERS.iter().all(|other| !name.contains(other)) => files.push(path),
                false => {}
            }
        }
    }
    files.sort();
    files
}

fn requests() -> usize {
    std::env::var("ADVISE_REQUESTS").map_or(REQUESTS, |text| text.parse().unwrap())
}

fn part(path: &Path, skipped: usize) -> Box<dyn TraceReader> {
    let reader = open(path, &ReadOptions::default()).unwrap().reader;
    Box::new(Part { reader, skipped, left: requests() })
}

/// Whether a sentence has each of some figures.
fn has_all(sentence: &str, figures: &[String]) -> bool {
    figures.iter().all(|figure| sentence.contains(figure.as_str()))
}

#[test]
fn every_sentence_holds_in_an_exact_simulation_at_its_size() {
    let mut winners = 0;
    for path in traces() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let opens = || part(&path, 0);
        let found = analyse(&opens);
        let exact = ExactMisses::of(&opens, &found, found.memory.recommended.capacity);
        for ranked in found.ranking.policies.iter().chain(&found.ranking.bound) {
            assert_eq!(ranked.misses, exact.misses(&ranked.policy), "{name}: {}", ranked.policy);
            assert_eq!(ranked.relative, exact.relative(&ranked.policy), "{name}: {}", ranked.policy);
        }
        assert_policy_sentence(&name, &found, &exact);
        assert_memory_sentences(&name, &found, &exact, &opens);
        winners += usize::from(found.policy.outcome == PolicyOutcome::Winner);
    }
    println!("{winners} winners");
}

/// The policy sentence names the best that is clearly better, with its exact difference, and that is on its side.
fn assert_policy_sentence(name: &str, found: &CacheAnalysis, exact: &ExactMisses) {
    let said = sentences(found);
    let text = about(&said, "policy");
    println!("{name}: {text}");
    let (policy, best) = (&found.policy, exact.relative(&found.policy.best));
    let less = format!("{} less than LRU", percent(-best));
    match policy.outcome {
        PolicyOutcome::Winner => {
            let error = policy.error.unwrap();
            assert!(best <= -0.01 && best + error < 0.0, "{name}: {text}");
            assert!(has_all(text, &[format!("Use {}:", policy.policy), less]), "{name}: {text}");
        }
        PolicyOutcome::NoClearWinner => {
            assert!(has_all(text, &["Use LRU: no clear winner".to_owned(), less]), "{name}: {text}");
        }
        PolicyOutcome::NoGain => {
            assert!(
                found.ranking.policies.iter().all(|ranked| exact.relative(&ranked.policy) > -0.01),
                "{name}: {text}"
            );
        }
        PolicyOutcome::NoHits => assert_eq!(percent(exact.ratio("lru")), "100.0 %", "{name}: {text}"),
        PolicyOutcome::AllFit => assert!(best >= 0.0, "{name}: {text}"),
        PolicyOutcome::TooShort => {
            let needed = policy.requests_needed.unwrap();
            assert!(needed > exact.requests as u64 && text.starts_with("No policy is advised"), "{name}: {text}");
        }
    }
}

/// The sentences on memory have the exact misses with the recommended size, with half and with twice as much.
fn assert_memory_sentences(
    name: &str,
    found: &CacheAnalysis,
    exact: &ExactMisses,
    opens: &(dyn Fn() -> Box<dyn TraceReader> + Sync),
) {
    let (said, memory) = (sentences(found), &found.memory);
    let policy = memory.policy.as_str();
    let text = about(&said, "memory");
    println!("{name}: {text}");
    if memory.reason == MemoryReason::NoHits {
        assert!(text.starts_with("No memory is recommended"), "{name}: {text}");
        return;
    }
    let missed = percent(exact.ratio(policy));
    assert!(text.contains(&format!("{policy} then misses {missed}")), "{name}: {text}");
    assert!(policy == "lru" || text.contains(&format!("LRU {}", percent(exact.ratio("lru")))), "{name}: {text}");
    let text = about(&said, "sensitivity");
    let at = |capacity| percent(ExactMisses::of(opens, found, capacity).ratio(policy));
    let size = memory.recommended.capacity;
    assert_eq!(memory.half.map(|half| half.capacity), Some(size / 2).filter(|half| *half > 0), "{name}");
    assert_eq!(memory.twice.map(|twice| twice.capacity), Some(2 * size), "{name}");
    if size > 1 {
        assert!(has_all(text, &[at(size / 2), missed]), "{name}: {text}");
    }
    match memory.all_fit() {
        true => assert!(text.contains("more memory would change nothing"), "{name}: {text}"),
        false => assert!(text.contains(&format!("would miss {}.", at(2 * size))), "{name}: {text}"),
    }
}

/// The interval is of other such traffic: here, of the requests that follow.
#[test]
fn winners_win_in_the_traffic_that_follows_too() {
    let (mut held, mut within, mut all) = (0, 0, 0);
    for path in traces() {
        let found = analyse(&|| part(&path, 0));
        let after = || part(&path, requests());
        let follows = ExactMisses::of(&after, &found, found.memory.recommended.capacity);
        let policy = &found.policy;
        if policy.outcome != PolicyOutcome::Winner || follows.requests < requests() / 2 {
            continue;
        }
        let relative = follows.relative(&policy.policy);
        let is_within = (relative - policy.relative).abs() <= policy.error.unwrap();
        println!(
            "{}: {} {:.4} ± {:.4}, then {relative:.4}",
            path.display(),
            policy.policy,
            policy.relative,
            policy.error.unwrap()
        );
        (held, within, all) = (held + usize::from(relative < 0.0), within + usize::from(is_within), all + 1);
    }
    println!("{held} of {all} winners win again, {within} within their interval");
    assert!(held * 10 >= all * 9, "{held} of {all} winners win in what follows");
}
