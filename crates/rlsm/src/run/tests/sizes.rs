//! The exact overhead of runs on disk and in memory.

use super::model::*;
use crate::run::{DataFileOptions, Maplet, Order};

/// Entries with 16-byte keys and sequence numbers as after a flush: unique, in random order.
fn flushed(count: u64, value_bytes: usize, order: Order) -> Vec<Owned> {
    let one = |i: u64| {
        let key = format!("user{:012}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1_000_000_000_000);
        Owned::new(key, 1_000 + i, Some(vec![i as u8; value_bytes]))
    };
    let mut entries: Vec<Owned> = (0..count).map(one).collect();
    arrange(order, &mut entries);
    entries
}

/// The overhead on disk relative to keys and values, and the memory of run and maplet per entry, in bytes.
fn costs(count: u64, value_bytes: usize, order: Order, permutation: bool) -> (f64, f64) {
    let entries = flushed(count, value_bytes, order);
    let written = write(&DataFileOptions::default(), &[(order, permutation, &entries)]);
    let run = &written.runs[0];
    let maplet = Maplet::build(16, run.entries, &[(0, &written.hashes[0])]);
    let overhead = run.stored_bytes as f64 / run.user_bytes as f64 - 1.0;
    let memory = (run.memory_bytes() + maplet.memory_bytes()) as f64 / run.entries as f64;
    println!(
        "{order:?}, 16 + {value_bytes} bytes, permutation {permutation}: {:.2} % overhead on disk, {memory:.3} bytes of memory per entry",
        overhead * 100.0
    );
    (overhead, memory)
}

#[test]
fn small_values_cost_seven_percent_and_three_bytes() {
    let (overhead, memory) = costs(200_000, 100, Order::Hash, false);
    assert!(overhead <= 0.07 && memory <= 3.0);
    let (overhead, memory) = costs(200_000, 100, Order::Hash, true);
    assert!(overhead <= 0.11 && memory <= 3.0);
    let (overhead, memory) = costs(200_000, 100, Order::Key, false);
    assert!(overhead <= 0.07 && memory <= 3.0);
}

#[test]
fn large_values_cost_two_percent_and_three_bytes() {
    for order in [Order::Hash, Order::Key] {
        let (overhead, memory) = costs(40_000, 1024, order, false);
        assert!(overhead <= 0.02 && memory <= 3.0);
    }
    let (_, memory) = costs(40_000, 1024, Order::Hash, true);
    assert!(memory <= 3.0);
}

#[test]
fn the_index_of_a_key_ordered_run_takes_less_than_half_a_byte_per_entry() {
    let entries = flushed(100_000, 100, Order::Key);
    let written = write(&DataFileOptions::default(), &[(Order::Key, false, &entries)]);
    let memory = written.runs[0].memory_bytes() as f64 / 100_000.0;
    println!("key-ordered, 16 + 100 bytes: {memory:.4} bytes of memory per entry");
    assert!(memory <= 0.5);
}
