//! The sentences on memory.

use manometer_measure::human::{bytes, percent};

use super::curves::MissPoint;
use super::memory::MemoryAdvice;
use super::memory_choice::MemoryReason;

/// The recommendation. `lru` is LRU's miss ratio at the recommended size, where another policy is recommended.
pub(super) fn memory_sentence(memory: &MemoryAdvice, lru: Option<f64>) -> String {
    let MemoryAdvice { recommended, all, policy, .. } = memory;
    let (size, share, missed) = (bytes(recommended.bytes), percent(recommended.share), percent(recommended.miss_ratio));
    let lru = lru.map(|lru| format!(" (LRU {})", percent(lru))).unwrap_or_default();
    let found = format!("Use {size} of memory, {share} of the size of all objects: {policy} then misses {missed}{lru}");
    let floor = percent(all.miss_ratio);
    match memory.reason {
        MemoryReason::NoHits if all.miss_ratio >= 1.0 => {
            "No memory is recommended: no cache reduces misses, because every request is the first for its object."
                .to_owned()
        }
        MemoryReason::NoHits => format!("No memory is recommended: with all objects cached, {floor} still miss."),
        MemoryReason::Cliff { before } => format!("{found}{}", cliff(memory, &before)),
        _ if memory.all_fit() => format!("{found}: only compulsory (cold) misses."),
        MemoryReason::NoKnee { from, until } => {
            format!("{found}. LRU's curve has no knee{}", more(memory, from.as_ref(), &until))
        }
        MemoryReason::Knee => format!(
            "{found}. It is the last knee of LRU's curve; with all objects cached, {floor} still miss.{}",
            smaller_knees(memory)
        ),
        MemoryReason::BelowKnee => format!(
            "{found}. It is the smallest size with the misses of the last knee of LRU's curve; with all objects cached, \
             {floor} still miss."
        ),
    }
}

/// What less memory than the foot of a cliff would do.
fn cliff(memory: &MemoryAdvice, before: &MissPoint) -> String {
    let (floor, missed) = (percent(memory.all.miss_ratio), percent(before.miss_ratio));
    let rest = match memory.all_fit() {
        true => ": only compulsory (cold) misses".to_owned(),
        false => format!("; with all objects cached, {floor} still miss"),
    };
    let (size, less) = (bytes(memory.recommended.bytes), bytes(before.bytes));
    match missed == percent(1.0) {
        true => {
            format!(
                "{rest}. LRU's curve has a cliff there: only {size} and more help, with {less} LRU misses {missed}."
            )
        }
        false => format!("{rest}. LRU's curve has a cliff there: with {less} LRU still misses {missed}."),
    }
}

/// What more memory would do where the curve has no knee.
fn more(memory: &MemoryAdvice, from: Option<&MissPoint>, until: &MissPoint) -> String {
    let (floor, until_size) = (percent(memory.all.miss_ratio), bytes(until.bytes));
    match from {
        None => format!(", and more memory does not help LRU: with all objects cached, {floor} still miss."),
        Some(from) if from.capacity >= until.capacity => {
            format!(": only {until_size} and more reduce LRU's misses further, to {floor}. Choose by budget.")
        }
        Some(from) if from.capacity > memory.recommended.capacity.saturating_mul(2) => format!(
            ": more memory reduces LRU's misses only from {} on, up to {until_size}, where {floor} miss. Choose by budget.",
            bytes(from.bytes)
        ),
        Some(_) => {
            format!(": more memory reduces LRU's misses up to {until_size}, where {floor} miss. Choose by budget.")
        }
    }
}

fn smaller_knees(memory: &MemoryAdvice) -> String {
    let [smaller @ .., _] = memory.knees.as_slice() else { return String::new() };
    let smaller: Vec<String> = smaller
        .iter()
        .map(|knee| format!("{} ({} miss with LRU)", bytes(knee.bytes), percent(knee.miss_ratio)))
        .collect();
    match smaller.is_empty() {
        true => String::new(),
        false => format!(" Smaller knees: {}.", smaller.join(", or ")),
    }
}

/// The effect of half and twice the memory.
pub(super) fn memory_sensitivity(memory: &MemoryAdvice) -> String {
    let MemoryAdvice { recommended, half, .. } = memory;
    let half = match half {
        Some(half) => format!(
            "Half the memory ({}) would miss {} instead of {}",
            bytes(half.bytes),
            percent(half.miss_ratio),
            percent(recommended.miss_ratio),
        ),
        None if recommended.capacity == 1 => "Half the memory would hold no object".to_owned(),
        None => "Half the memory is too little for an estimate from the sample".to_owned(),
    };
    format!("{half}{}.", twice(memory))
}

fn twice(memory: &MemoryAdvice) -> String {
    let MemoryAdvice { twice, all, .. } = memory;
    match twice {
        _ if memory.all_fit() => "; more memory would change nothing".to_owned(),
        Some(twice) if twice.capacity > all.capacity => format!(
            "; twice as much, {}, is more than all objects take ({}), and would miss {}",
            bytes(twice.bytes),
            bytes(all.bytes),
            percent(twice.miss_ratio)
        ),
        Some(twice) => format!("; twice as much, {}, would miss {}", bytes(twice.bytes), percent(twice.miss_ratio)),
        None => String::new(),
    }
}
