//! LRU and CFLRU: slots in the order of their last use.

/// No slot.
const NONE: u32 = u32::MAX;

/// The share of the slots in which CFLRU prefers clean pages: those used least recently.
const CLEAN_FIRST_SHARE: usize = 4;

#[derive(Debug, Clone, Copy)]
struct Links {
    older: u32,
    newer: u32,
    is_listed: bool,
}

/// The slots used last that are never victims: one instruction may need four pages at once, and three of them must not
/// go while the fourth is read.
const KEPT: usize = 3;

/// What a slot is to a replacement that wants victims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Candidate {
    /// It could be a victim, and costs no write.
    Clean,
    /// It could be a victim, and must be written first.
    Dirty,
    /// It is held.
    Held,
}

/// A list of slots in the order of their last use.
#[derive(Debug)]
pub(super) struct Recency {
    links: Vec<Links>,
    oldest: u32,
    newest: u32,
    listed: usize,
    is_clean_first: bool,
}

impl Recency {
    pub(super) fn new(slots: u32, is_clean_first: bool) -> Self {
        let unlisted = Links { older: NONE, newer: NONE, is_listed: false };
        Self { links: vec![unlisted; slots as usize], oldest: NONE, newest: NONE, listed: 0, is_clean_first }
    }

    /// The slot was used now.
    pub(super) fn touch(&mut self, slot: u32) {
        if self.newest == slot {
            return;
        }
        self.remove(slot);
        let older = self.newest;
        self.links[slot as usize] = Links { older, newer: NONE, is_listed: true };
        match older {
            NONE => self.oldest = slot,
            older => self.links[older as usize].newer = slot,
        }
        self.newest = slot;
        self.listed += 1;
    }

    /// The slot is empty.
    pub(super) fn remove(&mut self, slot: u32) {
        let Links { older, newer, is_listed } = self.links[slot as usize];
        if !is_listed {
            return;
        }
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.links[newer as usize].older = older,
        }
        self.links[slot as usize].is_listed = false;
        self.listed -= 1;
    }

    /// The slots that may be victims.
    fn oldest_first(&self) -> impl Iterator<Item = u32> + '_ {
        let some = |slot| (slot != NONE).then_some(slot);
        let all = std::iter::successors(some(self.oldest), move |slot| some(self.links[*slot as usize].newer));
        // With so few slots that all would be kept, no page is mapped.
        all.take(self.listed.saturating_sub(KEPT).max(1))
    }

    /// At most `wanted` victims, the first to go first.
    pub(super) fn victims(&self, wanted: usize, look: impl Fn(u32) -> Candidate) -> Vec<u32> {
        let mut victims = Vec::with_capacity(wanted);
        let window = if self.is_clean_first { self.listed.div_ceil(CLEAN_FIRST_SHARE) } else { 0 };
        let is_clean = |slot: &u32| look(*slot) == Candidate::Clean;
        victims.extend(self.oldest_first().take(window).filter(is_clean).take(wanted));
        if victims.len() < wanted {
            let clean_first = victims.len();
            let is_free = |slot: &u32| look(*slot) != Candidate::Held;
            let others = self.oldest_first().filter(is_free).filter(|slot| !victims[..clean_first].contains(slot));
            let others: Vec<u32> = others.take(wanted - clean_first).collect();
            victims.extend(others);
        }
        victims
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(slots: &[u32], is_clean_first: bool) -> Recency {
        let mut recency = Recency::new(16, is_clean_first);
        slots.iter().for_each(|slot| recency.touch(*slot));
        recency
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut recency = used(&[3, 1, 2, 3, 4, 5, 6], false);
        assert_eq!(recency.victims(2, |_| Candidate::Dirty), [1, 2]);
        recency.remove(1);
        recency.remove(1);
        assert_eq!(recency.victims(9, |_| Candidate::Clean), [2, 3], "the last three stay");
        assert_eq!(recency.victims(9, |slot| if slot == 2 { Candidate::Held } else { Candidate::Clean }), [3]);
    }

    #[test]
    fn clean_goes_before_dirty_within_the_oldest_quarter_only() {
        let recency = used(&[0, 1, 2, 3, 4, 5, 6, 7], true);
        let look = |slot| if slot == 1 || slot == 2 { Candidate::Clean } else { Candidate::Dirty };
        assert_eq!(recency.victims(1, look), [1], "1 is within the quarter");
        assert_eq!(recency.victims(2, look), [1, 0], "2 is not");
    }

    #[test]
    fn an_emptied_list_can_be_used_again() {
        let mut recency = used(&[5], false);
        recency.remove(5);
        assert!(recency.victims(1, |_| Candidate::Clean).is_empty());
        recency.touch(5);
        assert_eq!(recency.victims(1, |_| Candidate::Clean), [5]);
    }
}
