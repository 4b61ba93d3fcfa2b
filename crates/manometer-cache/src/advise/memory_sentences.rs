//! The sentences on memory.

use manometer_measure::human::{bytes, percent};

use super::memory::MemoryAdvice;

/// The recommendation. `lru` is LRU's miss ratio at the recommended size, where another policy is recommended.
pub(super) fn memory_sentence(memory: &MemoryAdvice, lru: Option<f64>) -> String {
    let MemoryAdvice { recommended, knees, all, policy, .. } = memory;
    let (size, share, missed) = (bytes(recommended.bytes), percent(recommended.share), percent(recommended.miss_ratio));
    let lru = lru.map(|lru| format!(" (LRU {})", percent(lru))).unwrap_or_default();
    let found = format!("Use {size} of memory, {share} of the size of all objects: {policy} then misses {missed}{lru}");
    let floor = percent(all.miss_ratio);
    match knees.as_slice() {
        _ if recommended.capacity == all.capacity => format!("{found}: only compulsory (cold) misses."),
        [] => format!(
            "{found}. LRU's curve has no knee: more memory reduces misses up to {}, where {floor} miss. Choose by \
             budget.",
            bytes(all.bytes)
        ),
        [smaller @ .., _] => {
            let smaller: Vec<String> = smaller
                .iter()
                .map(|knee| format!("{} ({} miss with LRU)", bytes(knee.bytes), percent(knee.miss_ratio)))
                .collect();
            let smaller = match smaller.is_empty() {
                true => String::new(),
                false => format!(" Smaller knees: {}.", smaller.join(", or ")),
            };
            format!(
                "{found}. It is the last knee of LRU's curve; with all objects cached, {floor} still miss.{smaller}"
            )
        }
    }
}

/// The effect of half and twice the memory.
pub(super) fn memory_sensitivity(memory: &MemoryAdvice) -> String {
    let MemoryAdvice { recommended, half, twice, .. } = memory;
    let twice = match twice.capacity > recommended.capacity {
        true => format!("twice as much, {}, would miss {}", bytes(twice.bytes), percent(twice.miss_ratio)),
        false => "more memory would change nothing".to_owned(),
    };
    match half {
        Some(half) => format!(
            "Half the memory ({}) would miss {} instead of {}; {twice}.",
            bytes(half.bytes),
            percent(half.miss_ratio),
            percent(recommended.miss_ratio),
        ),
        None => format!("Half the memory is outside the measured curve; {twice}."),
    }
}
