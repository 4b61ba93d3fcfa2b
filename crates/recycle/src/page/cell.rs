//! A [`PageWord`] that threads share.

use super::sync::{AtomicU64, Ordering, spin, wait, wake_all};
use super::word::{PageWord, Refusal};

/// How often a waiting thread looks again before it sleeps: shorter than the fastest device answers, longer than
/// another thread needs to lift a protection.
const SPINS: u32 = 64;

/// The word of one page; zeroed memory is an absent page.
#[repr(transparent)]
pub(crate) struct PageCell(AtomicU64);

impl PageCell {
    #[cfg(test)]
    #[allow(dead_code, reason = "for the shuttle tests")]
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn load(&self) -> PageWord {
        PageWord::from_bits(self.0.load(Ordering::Acquire))
    }

    /// Takes a step, and wakes who waits if the step unlocks the page. Returns the new word.
    ///
    /// # Errors
    /// The step is refused; beside the reason, the word that refused it.
    pub(crate) fn change(
        &self,
        step: impl Fn(PageWord) -> Result<PageWord, Refusal>,
    ) -> Result<PageWord, (Refusal, PageWord)> {
        let mut seen = self.load();
        loop {
            let next = step(seen).map_err(|refusal| (refusal, seen))?;
            match self.0.compare_exchange_weak(seen.bits(), next.bits(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    if seen.has_waiters() && !next.has_waiters() {
                        wake_all(&self.0);
                    }
                    return Ok(next);
                }
                Err(bits) => seen = PageWord::from_bits(bits),
            }
        }
    }

    /// Takes a step that only the thread that holds the page takes, and that is therefore never refused.
    pub(crate) fn finish(&self, step: impl Fn(PageWord) -> Result<PageWord, Refusal>) {
        let finished = self.change(step);
        debug_assert!(finished.is_ok(), "the holder's step is never refused");
    }

    /// Waits until the word is another than `seen`. May return early.
    pub(crate) fn wait(&self, seen: PageWord) {
        for _ in 0..SPINS {
            if self.load() != seen {
                return;
            }
            spin();
        }
        let marked = seen.with_waiters();
        let mark = self.0.compare_exchange(seen.bits(), marked.bits(), Ordering::AcqRel, Ordering::Acquire);
        if mark.is_ok() {
            wait(&self.0, marked.bits() as u32);
        }
    }

    /// Takes a step as soon as nobody holds the page.
    ///
    /// # Errors
    /// The step is refused for another reason than waiting.
    pub(crate) fn change_when_free(
        &self,
        step: impl Fn(PageWord) -> Result<PageWord, Refusal>,
    ) -> Result<PageWord, Refusal> {
        loop {
            match self.change(&step) {
                Err((Refusal::Wait, seen)) => self.wait(seen),
                Err((refusal, _)) => return Err(refusal),
                Ok(word) => return Ok(word),
            }
        }
    }
}
