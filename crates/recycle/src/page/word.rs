//! The word that holds all that is known of a page, and the steps it may take. Pure: [`super::PageCell`] makes it atomic.
//!
//! | bits | content |
//! | --- | --- |
//! | 0 to 1 | [`State`] |
//! | 2 | dirty: memory is newer than the file |
//! | 3 | writing: the page is being written to the file and must not change |
//! | 4 | busy: its write protection is being lifted |
//! | 5 | a thread waits for a change of this word |
//! | 6 to 7 | weight: how many more times CLOCK passes the page by |
//! | 8 to 23 | pins; all ones for an exclusive pin |
//! | 32 to 63 | resident: its slot in the budget; absent: when it was evicted (0: never) |
//!
//! In a mapped region a page that is neither dirty nor busy is write-protected. The converse does not hold: a
//! dirty page may be protected as well, which costs its next writer a fault and nothing else.

/// Where the bytes of a page are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// In the file only.
    Absent,
    /// A thread reads it.
    Loading,
    /// In memory.
    Resident,
    /// A thread takes it out of memory.
    Evicting,
}

/// Why a step is not possible now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The page must be loaded first.
    Absent,
    /// Another thread holds it: wait for a change.
    Wait,
    /// There is nothing to do: the page is not in the state that the step is for.
    Nothing,
    /// The page is pinned as often as the word can count.
    Pins,
}

/// See the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageWord(u64);

const STATE: u64 = 0b11;
const DIRTY: u64 = 1 << 2;
const WRITING: u64 = 1 << 3;
const BUSY: u64 = 1 << 4;
const WAITERS: u64 = 1 << 5;
const WEIGHT_SHIFT: u32 = 6;
const WEIGHT: u64 = 0b11 << WEIGHT_SHIFT;
const PIN: u64 = 1 << 8;
const PINS: u64 = 0xffff << 8;
const HIGH_SHIFT: u32 = 32;

/// The heaviest weight.
pub(crate) const MAX_WEIGHT: u8 = 3;

type Step = Result<PageWord, Refusal>;

impl PageWord {
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn state(self) -> State {
        match self.0 & STATE {
            0 => State::Absent,
            1 => State::Loading,
            2 => State::Resident,
            _ => State::Evicting,
        }
    }

    pub(crate) fn is_dirty(self) -> bool {
        self.0 & DIRTY != 0
    }

    pub(crate) fn is_writing(self) -> bool {
        self.0 & WRITING != 0
    }

    fn is_busy(self) -> bool {
        self.0 & BUSY != 0
    }

    pub(crate) fn has_waiters(self) -> bool {
        self.0 & WAITERS != 0
    }

    pub(crate) fn is_pinned(self) -> bool {
        self.0 & PINS != 0
    }

    fn is_exclusive(self) -> bool {
        self.0 & PINS == PINS
    }

    /// The slot of a page that is in memory.
    pub(crate) fn slot(self) -> u32 {
        (self.0 >> HIGH_SHIFT) as u32
    }

    /// When an absent page was evicted; 0: never.
    pub(crate) fn evicted(self) -> u32 {
        self.slot()
    }

    pub(crate) fn weight(self) -> u8 {
        ((self.0 & WEIGHT) >> WEIGHT_SHIFT) as u8
    }

    pub(crate) fn with_waiters(self) -> Self {
        Self(self.0 | WAITERS)
    }

    /// The page with at least this weight.
    fn touched(self, weight: u8) -> Self {
        Self(self.0 & !WEIGHT | u64::from(self.weight().max(weight.min(MAX_WEIGHT))) << WEIGHT_SHIFT)
    }

    /// Passed by once by CLOCK.
    pub(crate) fn lighter(self) -> Step {
        match (self.state(), self.weight()) {
            (State::Resident, 1..) => Ok(Self(self.0 - (1 << WEIGHT_SHIFT))),
            _ => Err(Refusal::Nothing),
        }
    }

    fn resident(self) -> Result<Self, Refusal> {
        match self.state() {
            State::Resident => Ok(self),
            State::Absent => Err(Refusal::Absent),
            State::Loading | State::Evicting => Err(Refusal::Wait),
        }
    }

    /// The caller will read the page from the file.
    pub(crate) fn begin_load(self) -> Step {
        match self.state() {
            State::Absent => Ok(Self(self.0 | 1)),
            State::Resident => Err(Refusal::Nothing),
            State::Loading | State::Evicting => Err(Refusal::Wait),
        }
    }

    /// The page was read, into `slot`.
    pub(crate) fn finish_load(self, slot: u32, dirty: bool, weight: u8) -> Step {
        debug_assert_eq!(self.state(), State::Loading);
        let dirty = if dirty { DIRTY } else { 0 };
        Ok(Self(2 | dirty | u64::from(slot) << HIGH_SHIFT).touched(weight))
    }

    /// The page could not be read.
    pub(crate) fn fail_load(self) -> Step {
        debug_assert_eq!(self.state(), State::Loading);
        Ok(Self(self.0 & !(STATE | WAITERS)))
    }

    /// Holds the page in memory, to read it.
    pub(crate) fn pin(self) -> Step {
        let word = self.resident()?;
        if word.is_exclusive() {
            return Err(Refusal::Wait);
        }
        let pinned = Self(word.0 + PIN);
        if pinned.is_exclusive() { Err(Refusal::Pins) } else { Ok(pinned.touched(1)) }
    }

    /// Holds the page in memory for the caller alone, to write it.
    pub(crate) fn pin_exclusively(self) -> Step {
        let word = self.resident()?;
        if word.is_pinned() || word.is_writing() || word.is_busy() {
            return Err(Refusal::Wait);
        }
        Ok(Self(word.0 | PINS | DIRTY).touched(1))
    }

    /// Ends a pin of either kind.
    pub(crate) fn unpin(self) -> Step {
        debug_assert!(self.is_pinned());
        let word = if self.is_exclusive() { Self(self.0 & !PINS) } else { Self(self.0 - PIN) };
        Ok(Self(word.0 & !WAITERS))
    }

    /// The caller will lift the write protection.
    pub(crate) fn begin_unprotect(self) -> Step {
        let word = self.resident()?;
        if word.is_writing() || word.is_busy() { Err(Refusal::Wait) } else { Ok(Self(word.0 | BUSY)) }
    }

    /// The protection is lifted: the page may change at any time from now on.
    pub(crate) fn finish_unprotect(self) -> Step {
        debug_assert!(self.is_busy());
        Ok(Self((self.0 | DIRTY) & !(BUSY | WAITERS)).touched(1))
    }

    /// The protection could not be lifted.
    pub(crate) fn fail_unprotect(self) -> Step {
        debug_assert!(self.is_busy());
        Ok(Self(self.0 & !(BUSY | WAITERS)))
    }

    /// The caller will write the page to the file, and leave it in memory.
    pub(crate) fn begin_write(self) -> Step {
        let word = self.resident().map_err(|refusal| match refusal {
            Refusal::Absent => Refusal::Nothing,
            other => other,
        })?;
        match word {
            // Who writes it now has taken its bytes; who waits for durability waits for it.
            word if word.is_writing() || word.is_busy() || word.is_exclusive() => Err(Refusal::Wait),
            word if !word.is_dirty() => Err(Refusal::Nothing),
            word => Ok(Self((word.0 | WRITING) & !DIRTY)),
        }
    }

    /// The page was written, or could not be.
    pub(crate) fn finish_write(self, is_written: bool) -> Step {
        debug_assert!(self.is_writing());
        let dirty = if is_written { 0 } else { DIRTY };
        Ok(Self((self.0 | dirty) & !(WRITING | WAITERS)))
    }

    /// The caller will take the page out of memory, if nobody holds it.
    pub(crate) fn begin_evict(self, clean_only: bool) -> Step {
        let word = self.resident().map_err(|_| Refusal::Nothing)?;
        if word.is_pinned() || word.is_writing() || word.is_busy() {
            return Err(Refusal::Wait);
        }
        if clean_only && word.is_dirty() { Err(Refusal::Nothing) } else { Ok(Self(word.0 | STATE)) }
    }

    /// The caller will give up the page and what was not written of it. Nobody may use it any more; pins that nobody
    /// ended do not count.
    pub(crate) fn begin_discard(self) -> Step {
        match self.state() {
            State::Absent => Err(Refusal::Nothing),
            State::Resident if !self.is_writing() && !self.is_busy() => Ok(Self((self.0 | STATE) & !DIRTY)),
            _ => Err(Refusal::Wait),
        }
    }

    /// The page is in the file only.
    pub(crate) fn finish_evict(self, now: u32) -> Step {
        debug_assert_eq!(self.state(), State::Evicting);
        Ok(Self(u64::from(now) << HIGH_SHIFT))
    }

    /// The page stays in memory, because it could not be written.
    pub(crate) fn fail_evict(self) -> Step {
        debug_assert_eq!(self.state(), State::Evicting);
        Ok(Self(self.0 & !(STATE | WAITERS) | 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABSENT: PageWord = PageWord(0);

    fn resident(dirty: bool) -> PageWord {
        ABSENT.begin_load().unwrap().finish_load(7, dirty, 0).unwrap()
    }

    #[test]
    fn a_page_is_loaded_once_and_remembers_its_slot() {
        let loading = ABSENT.begin_load().unwrap();
        assert_eq!(loading.begin_load(), Err(Refusal::Wait));
        assert_eq!(loading.pin(), Err(Refusal::Wait));
        let resident = loading.finish_load(u32::MAX, false, 9).unwrap();
        assert_eq!((resident.state(), resident.slot(), resident.weight()), (State::Resident, u32::MAX, MAX_WEIGHT));
        assert_eq!(resident.begin_load(), Err(Refusal::Nothing));
    }

    #[test]
    fn a_failed_load_leaves_no_trace() {
        let evicted = resident(false).begin_evict(true).unwrap().finish_evict(5).unwrap();
        let failed = evicted.begin_load().unwrap().with_waiters().fail_load().unwrap();
        assert_eq!(failed, evicted);
        assert_eq!(failed.evicted(), 5);
        assert_eq!(failed.pin(), Err(Refusal::Absent));
    }

    #[test]
    fn pins_hold_a_page_and_exclude_each_other() {
        let once = resident(false).pin().unwrap();
        let twice = once.pin().unwrap();
        assert_eq!(twice.pin_exclusively(), Err(Refusal::Wait));
        assert_eq!(twice.begin_evict(false), Err(Refusal::Wait));
        let free = twice.unpin().unwrap().unpin().unwrap();
        let exclusive = free.pin_exclusively().unwrap();
        assert!(exclusive.is_dirty());
        assert_eq!(exclusive.pin(), Err(Refusal::Wait));
        assert_eq!(exclusive.begin_write(), Err(Refusal::Wait));
        assert!(!exclusive.unpin().unwrap().is_pinned());
    }

    #[test]
    fn the_last_pin_is_refused_before_it_looks_exclusive() {
        let mut word = resident(false);
        for _ in 0..0xfffe {
            word = word.pin().unwrap();
        }
        assert_eq!(word.pin(), Err(Refusal::Pins));
        assert_eq!(word.slot(), 7);
    }

    #[test]
    fn a_page_under_write_keeps_its_bytes_and_stays() {
        let writing = resident(true).begin_write().unwrap();
        assert!(!writing.is_dirty());
        assert_eq!(writing.begin_unprotect(), Err(Refusal::Wait));
        assert_eq!(writing.pin_exclusively(), Err(Refusal::Wait));
        assert_eq!(writing.begin_evict(false), Err(Refusal::Wait));
        assert!(writing.pin().is_ok(), "readers may read it");
        assert!(writing.finish_write(false).unwrap().is_dirty());
        assert!(!writing.finish_write(true).unwrap().is_dirty());
    }

    #[test]
    fn clean_only_eviction_leaves_dirty_pages() {
        assert_eq!(resident(true).begin_evict(true), Err(Refusal::Nothing));
        let evicting = resident(true).begin_evict(false).unwrap();
        assert_eq!(evicting.pin(), Err(Refusal::Wait));
        let kept = evicting.fail_evict().unwrap();
        assert_eq!(kept, resident(true));
    }

    #[test]
    fn a_page_becomes_dirty_only_after_its_protection_is_lifted() {
        let busy = resident(false).begin_unprotect().unwrap();
        assert!(!busy.is_dirty());
        assert_eq!(busy.begin_write(), Err(Refusal::Wait));
        assert_eq!(busy.begin_evict(false), Err(Refusal::Wait));
        assert!(busy.finish_unprotect().unwrap().is_dirty());
        assert!(!busy.fail_unprotect().unwrap().is_dirty());
    }

    #[test]
    fn weights_run_out() {
        let heavy = ABSENT.begin_load().unwrap().finish_load(0, false, 2).unwrap();
        let light = heavy.lighter().unwrap().lighter().unwrap();
        assert_eq!(light.lighter(), Err(Refusal::Nothing));
    }

    #[test]
    fn a_clean_or_absent_page_needs_no_write() {
        assert_eq!(ABSENT.begin_write(), Err(Refusal::Nothing));
        assert_eq!(resident(false).begin_write(), Err(Refusal::Nothing));
    }

    #[test]
    fn unlocking_steps_release_who_waits_and_locking_steps_keep_them() {
        let waited = resident(true).with_waiters();
        assert!(waited.pin().unwrap().has_waiters());
        assert!(!waited.pin().unwrap().unpin().unwrap().has_waiters());
        assert!(!waited.begin_write().unwrap().finish_write(true).unwrap().has_waiters());
        assert!(!waited.begin_evict(false).unwrap().finish_evict(1).unwrap().has_waiters());
        assert!(!waited.begin_unprotect().unwrap().finish_unprotect().unwrap().has_waiters());
    }
}
