use proptest::prelude::*;

use super::*;

fn read(pages: &mut PageCache, page: u32) {
    pages.expect(page, page + 1, 0);
    pages.arrive(page, page + 1, 0);
}

fn found(pages: &mut PageCache, page: u32) -> PageLookup {
    pages.touch(page, page + 1).0
}

#[test]
fn changed_pages_stay_until_they_are_written_back() {
    let mut pages = PageCache::new(10, 2);
    pages.change(0, 1, 5);
    read(&mut pages, 1);
    read(&mut pages, 2);
    assert_eq!(
        [0, 1, 2].map(|page| found(&mut pages, page)),
        [PageLookup::Cached, PageLookup::Missing, PageLookup::Cached]
    );
    pages.change(3, 4, 6);
    assert_eq!(found(&mut pages, 2), PageLookup::Missing, "the only one that could go");
    assert_eq!((pages.oldest_dirty(), pages.dirty()), (Some((0, 5)), 2));
    read(&mut pages, 4);
    assert_eq!(found(&mut pages, 4), PageLookup::Missing, "no room");
    pages.change(0, 1, 9);
    assert_eq!(pages.oldest_dirty(), Some((0, 5)), "from when it was changed first");
    pages.clean(0, 1);
    assert_eq!((pages.dirty_from(0, 10), found(&mut pages, 0)), (Some(3), PageLookup::Cached));
    pages.forget(3, 4);
    assert_eq!((pages.dirty(), pages.oldest_dirty()), (0, None));
}

#[test]
fn a_page_that_is_read_is_there_once_it_arrived() {
    let mut pages = PageCache::new(10, 2);
    pages.expect(1, 2, 7);
    assert_eq!(found(&mut pages, 1), PageLookup::InFlight(7));
    pages.arrive(1, 2, 6);
    assert_eq!(found(&mut pages, 1), PageLookup::InFlight(7), "that was an earlier flight");
    pages.change(1, 2, 3);
    pages.arrive(1, 2, 7);
    assert_eq!(pages.dirty_from(0, 10), Some(1), "what was written in the meantime stays");
    pages.expect(2, 3, 8);
    pages.forget(2, 3);
    pages.arrive(2, 3, 8);
    assert_eq!(found(&mut pages, 2), PageLookup::Missing);
}

#[test]
fn runs_of_changed_pages_are_found_from_within() {
    let mut pages = PageCache::new(20, 20);
    pages.change(4, 8, 1);
    pages.change(8, 12, 2);
    assert_eq!((pages.dirty_before(7, 0), pages.dirty_before(10, 6), pages.dirty_before(3, 0)), (4, 6, 3));
    assert_eq!((pages.dirty_until(5, 20), pages.dirty_until(5, 9), pages.dirty_until(2, 20)), (12, 9, 2));
    assert_eq!((pages.dirty_from(0, 20), pages.dirty_from(12, 20)), (Some(4), None));
}

/// A simple model with single pages, oldest first.
#[derive(Default)]
struct Model {
    capacity: usize,
    unchanged: Vec<(u32, PageState)>,
    changed: Vec<(u32, PageState)>,
}

impl Model {
    fn make_room(&mut self) {
        while self.unchanged.len() + self.changed.len() >= self.capacity && !self.unchanged.is_empty() {
            self.unchanged.remove(0);
        }
    }

    fn touch(&mut self, page: u32) -> PageLookup {
        if self.changed.iter().any(|(other, _)| *other == page) {
            return PageLookup::Cached;
        }
        let Some(at) = self.unchanged.iter().position(|(other, _)| *other == page) else { return PageLookup::Missing };
        let (_, state) = self.unchanged.remove(at);
        self.unchanged.push((page, state));
        if state == CLEAN { PageLookup::Cached } else { PageLookup::InFlight((state & !IN_FLIGHT) as TransferId) }
    }

    fn expect(&mut self, page: u32, flight: TransferId) {
        self.make_room();
        if self.unchanged.len() + self.changed.len() < self.capacity {
            self.unchanged.push((page, IN_FLIGHT | PageState::from(flight)));
        }
    }

    fn arrive(&mut self, page: u32, flight: TransferId) {
        let arriving = (page, IN_FLIGHT | PageState::from(flight));
        self.unchanged.iter_mut().filter(|one| **one == arriving).for_each(|one| one.1 = CLEAN);
    }

    fn change(&mut self, page: u32, now: Ns) {
        if self.changed.iter().any(|(other, _)| *other == page) {
            return;
        }
        match self.unchanged.iter().position(|(other, _)| *other == page) {
            Some(at) => drop(self.unchanged.remove(at)),
            None => self.make_room(),
        }
        self.changed.push((page, now));
    }

    fn clean(&mut self, page: u32) {
        if let Some(at) = self.changed.iter().position(|(other, _)| *other == page) {
            self.changed.remove(at);
            self.unchanged.push((page, CLEAN));
        }
    }

    fn forget(&mut self, page: u32) {
        self.changed.retain(|(other, _)| *other != page);
        self.unchanged.retain(|(other, _)| *other != page);
    }
}

/// The pages of a list one by one, oldest first.
fn listed(pages: &PageCache, order: usize) -> Vec<(u32, PageState)> {
    let mut listed = Vec::new();
    let mut run = pages.orders[order].oldest;
    while run != NONE {
        let PageRun { from, until, newer, state, .. } = pages.runs[run as usize];
        listed.extend((from..until).map(|page| (page, state)));
        assert!(pages.of[from as usize..until as usize].iter().all(|of| *of == run));
        run = newer;
    }
    assert_eq!(listed.len() as u64, pages.orders[order].pages);
    listed
}

proptest! {
    #[test]
    fn runs_go_as_their_pages_would_one_by_one(
        capacity in 1_u64..30,
        steps in prop::collection::vec((0..6, 0_u32..40, 1_u32..12), 1..80),
    ) {
        let mut pages = PageCache::new(40, capacity);
        let mut model = Model { capacity: capacity as usize, ..Model::default() };
        for (turn, (step, from, len)) in steps.into_iter().enumerate() {
            let (end, now, flight) = ((from + len).min(40), turn as Ns + 1, turn as TransferId % 3);
            match step {
                0 | 1 => {
                    let mut at = from;
                    while at < end {
                        let (found, until) = pages.touch(at, end);
                        prop_assert!(until > at && until <= end);
                        for page in at..until {
                            prop_assert_eq!(model.touch(page), found);
                        }
                        if found == PageLookup::Missing {
                            pages.expect(at, until, flight);
                            (at..until).for_each(|page| model.expect(page, flight));
                        }
                        at = until;
                    }
                }
                2 => {
                    pages.arrive(from, end, flight);
                    (from..end).for_each(|page| model.arrive(page, flight));
                }
                3 => {
                    pages.change(from, end, now);
                    (from..end).for_each(|page| model.change(page, now));
                }
                4 => {
                    pages.clean(from, end);
                    (from..end).for_each(|page| model.clean(page));
                }
                _ => {
                    pages.forget(from, end);
                    (from..end).for_each(|page| model.forget(page));
                }
            }
            prop_assert_eq!(listed(&pages, UNCHANGED), &model.unchanged[..]);
            prop_assert_eq!(listed(&pages, CHANGED), &model.changed[..]);
        }
    }
}
