//! Loading: every record once, sorted and in bulk, or put by put.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use manometer_measure::Clock;
use manometer_target::engine::{Engine, SortedRecords};

use super::distribution::{Random, stream};
use super::error::KvError;
use super::keys::{KeyBuffer, KeyForm};
use super::plan::KvPlan;
use super::population::RecordRange;
use super::settings::LoadMethod;
use super::values::ValueGenerator;
use crate::interface::Progress;

/// Keys that are sorted at once: 8 bytes each. More records take more passes over their numbers.
const KEYS_PER_PASS: u64 = 1 << 26;

/// Loads every record of `plan`, unless `progress` is stopped.
pub(super) fn load(
    plan: &KvPlan,
    seed: u64,
    engine: &dyn Engine,
    progress: &mut Progress<'_>,
    clock: &impl Clock,
) -> Result<(), KvError> {
    match plan.load {
        _ if plan.spec.loaded == 0 => {}
        LoadMethod::Bulk => engine.load_sorted(&mut SortedLoader::new(plan, seed, progress))?,
        LoadMethod::Puts => puts(plan, seed, engine, progress, clock)?,
    }
    let loaded = plan.spec.loaded;
    let _ = progress.report(loaded, loaded);
    Ok(())
}

/// All records in the order of their keys, a part of the key space at a time.
struct SortedLoader<'a, 'p> {
    range: RecordRange,
    passes: u64,
    pass: u64,
    numbers: std::vec::IntoIter<u64>,
    form: KeyForm,
    values: ValueGenerator,
    random: Random,
    key: KeyBuffer,
    done: u64,
    progress: &'a mut Progress<'p>,
}

impl<'a, 'p> SortedLoader<'a, 'p> {
    fn new(plan: &KvPlan, seed: u64, progress: &'a mut Progress<'p>) -> Self {
        let mut random = stream(seed, 0);
        Self {
            range: plan.spec.record_range(),
            passes: plan.spec.loaded.div_ceil(KEYS_PER_PASS),
            pass: 0,
            numbers: Vec::new().into_iter(),
            form: plan.spec.keys,
            values: ValueGenerator::new(&plan.spec.values, &mut random),
            random,
            key: KeyBuffer::new(plan.spec.keys),
            done: 0,
            progress,
        }
    }

    /// The next number in the order of the keys.
    fn next_number(&mut self) -> Option<u64> {
        while self.numbers.len() == 0 {
            if self.pass == self.passes {
                return None;
            }
            self.numbers = sorted_part(self.form, self.range, self.pass, self.passes).into_iter();
            self.pass += 1;
        }
        self.numbers.next()
    }
}

impl SortedRecords for SortedLoader<'_, '_> {
    fn next(&mut self) -> Option<(&[u8], &[u8])> {
        let number = self.next_number()?;
        self.done += 1;
        let key = self.key.of_number(number);
        Some((key, self.values.make(key, &mut self.random)))
    }

    fn keep_going(&mut self) -> ControlFlow<()> {
        self.progress.report(self.done, self.range.loaded)
    }
}

/// The numbers in the keys of all records whose keys lie in part `part` of `parts` parts of the key space,
/// in the order of the keys and each once: YCSB's hash may, very rarely, give two records one key.
fn sorted_part(form: KeyForm, RecordRange { first, loaded, .. }: RecordRange, part: u64, parts: u64) -> Vec<u64> {
    let end = first + loaded;
    let width = form.order_end(end) / parts + 1;
    let of_part = |number: &u64| parts == 1 || form.order(*number).0 / width == part;
    let mut numbers: Vec<u64> = (first..end).map(|record| form.number(record)).filter(of_part).collect();
    numbers.sort_unstable_by_key(|number| form.order(*number));
    numbers.dedup();
    numbers
}

/// Puts every record, each thread its own share, in the order of their numbers.
fn puts(
    plan: &KvPlan,
    seed: u64,
    engine: &dyn Engine,
    progress: &mut Progress<'_>,
    clock: &impl Clock,
) -> Result<(), KvError> {
    /// How often the threads' progress is polled.
    const POLL_NS: u64 = 20_000_000;
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads)
            .map(|thread| {
                let (done, stop) = (&done, &stop);
                scope.spawn(move || put_share(plan, seed, thread, engine, done, stop))
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            let is_stopped = progress.report(done.load(Ordering::Relaxed), plan.spec.loaded).is_break();
            // The check releases threads that wait for failed background work; they report the cause.
            if engine.check_background().is_err() || is_stopped {
                stop.store(true, Ordering::Relaxed);
            }
            clock.sleep(POLL_NS);
        }
        engine.check_background()?;
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| KvError::Panicked)?)
    })
}

fn put_share(
    plan: &KvPlan,
    seed: u64,
    thread: u32,
    engine: &dyn Engine,
    done: &AtomicU64,
    stop: &AtomicBool,
) -> Result<(), KvError> {
    let mut session = engine.session();
    // Beyond the streams of the sorted loader (0) and of the clients, which follow it.
    let mut random = stream(seed, 1 + plan.threads + thread);
    let mut values = ValueGenerator::new(&plan.spec.values, &mut random);
    let mut key = KeyBuffer::new(plan.spec.keys);
    let RecordRange { first, loaded, .. } = plan.spec.record_range();
    for record in (first + u64::from(thread)..first + loaded).step_by(plan.threads as usize) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let key = key.of_record(record);
        let put = session.put(key, values.make(key, &mut random));
        // A failure of one thread stops all.
        put.inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
        done.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_cover_all_records_in_the_order_of_the_keys() {
        let ordered = |zero_padding| KeyForm::Ycsb { hashed: false, zero_padding };
        let part = RecordRange { first: 700, loaded: 5000, next: 9000 };
        for form in [KeyForm::YCSB, ordered(1), ordered(4), ordered(12), ordered(25)] {
            let key = |number: u64| KeyBuffer::new(form).of_number(number).to_vec();
            let whole: Vec<_> = sorted_part(form, part, 0, 1).into_iter().map(key).collect();
            let parts: Vec<_> = (0..4).map(|at| sorted_part(form, part, at, 4)).collect();
            assert!(parts.iter().all(|part| part.len() < 4000), "{form:?}: one part holds most");
            let parts: Vec<_> = parts.into_iter().flatten().map(key).collect();
            assert!(whole.is_sorted() && whole.len() == 5000);
            assert_eq!(whole, parts);
        }
    }
}
