//! The event queue: events in order of time; simultaneous ones in order of scheduling.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Simulated time in nanoseconds.
pub type Ns = u64;

/// Future events.
#[derive(Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    foreseen: u64,
    now: Ns,
}

#[derive(Debug)]
struct Entry<E> {
    at: Ns,
    turn: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.turn) == (other.at, other.turn)
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.turn).cmp(&(other.at, other.turn))
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), foreseen: 0, now: 0 }
    }
}

impl<E> EventQueue<E> {
    /// The current time: that of the last event.
    pub fn now(&self) -> Ns {
        self.now
    }

    /// Schedules an event; one in the past happens now.
    pub fn at(&mut self, at: Ns, event: E) {
        self.foreseen += 1;
        self.heap.push(Reverse(Entry { at: at.max(self.now), turn: self.foreseen, event }));
    }

    /// Takes the next event and advances the time to it.
    pub fn next(&mut self) -> Option<E> {
        let Reverse(entry) = self.heap.pop()?;
        self.now = entry.at;
        Some(entry.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_then_of_foresight() {
        let mut events = EventQueue::default();
        for (at, event) in [(5, 'c'), (1, 'a'), (5, 'd'), (2, 'b')] {
            events.at(at, event);
        }
        assert_eq!(events.next(), Some('a'));
        events.at(0, 'x');
        let rest: String = std::iter::from_fn(|| events.next()).collect();
        assert_eq!((rest.as_str(), events.now()), ("xbcd", 5));
    }
}
