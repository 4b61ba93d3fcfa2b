//! The requests in flight, by the tokens under which their answers come back.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::replay::request::ReplayRequest;

/// The most requests in flight. Beyond it requests are not sent, and count as dropped.
pub(super) const IN_FLIGHT_MAX: usize = 1 << 20;

/// A request in flight, or one of several of a command.
#[derive(Debug, Clone)]
pub(super) struct SentRequest {
    pub(super) request: ReplayRequest,
    /// Its key as it was sent.
    pub(super) key: Arc<[u8]>,
}

/// What is known of one token.
#[derive(Debug, Default)]
struct Slot {
    /// The request, and the others of its command, as far as they are not answered; empty while the token is free.
    requests: Vec<Option<SentRequest>>,
    /// When it was due and sent, on the clock.
    due_ns: u64,
    sent_ns: u64,
    /// The number of uses of the token.
    uses: u64,
    is_given_up: bool,
}

impl Slot {
    fn unanswered(&self) -> u64 {
        self.requests.iter().flatten().count() as u64
    }
}

/// The requests that one answer is for: one, or all of a command with one answer.
#[derive(Debug)]
pub(super) struct AnsweredRequests {
    pub(super) sent: Vec<SentRequest>,
    /// When it was due and sent, on the clock.
    pub(super) due_ns: u64,
    pub(super) sent_ns: u64,
}

/// All requests in flight. The sending thread adds, the receiving one removes.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Tokens and their uses in the order in which they were sent, to find the overdue.
    order: VecDeque<(usize, u64)>,
}

impl InFlight {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds `requests`, those of one command, and returns their token; `None` if too many are in flight.
    pub(super) fn add(&self, requests: Vec<SentRequest>, due_ns: u64, sent_ns: u64) -> Option<u64> {
        let mut table = self.table();
        let token = match table.free.pop() {
            Some(token) => token,
            None if table.slots.len() >= IN_FLIGHT_MAX => return None,
            None => {
                table.slots.push(Slot::default());
                table.slots.len() - 1
            }
        };
        let uses = table.slots[token].uses + 1;
        let requests = requests.into_iter().map(Some).collect();
        table.slots[token] = Slot { requests, due_ns, sent_ns, uses, is_given_up: false };
        table.order.push_back((token, uses));
        Some(token as u64)
    }

    /// The requests of `token` that its answer at `place` is for: where that is the only answer all that have none yet, else
    /// the one at that place. The token is free after its last answer. `None` if they were given up, or if there are none.
    pub(super) fn answer(&self, token: u64, place: usize, is_last: bool) -> Option<AnsweredRequests> {
        let mut table = self.table();
        let slot = table.slots.get_mut(token as usize)?;
        let (due_ns, sent_ns, is_given_up) = (slot.due_ns, slot.sent_ns, slot.is_given_up);
        let sent: Vec<SentRequest> = if place == 0 && is_last {
            std::mem::take(&mut slot.requests).into_iter().flatten().collect()
        } else {
            slot.requests.get_mut(place).and_then(Option::take).into_iter().collect()
        };
        if sent.is_empty() {
            return None;
        }
        if is_last {
            slot.requests.clear();
            table.free.push(token as usize);
        }
        (!is_given_up).then_some(AnsweredRequests { sent, due_ns, sent_ns })
    }

    /// Removes all requests of `token`, which was not sent after all.
    pub(super) fn take_back(&self, token: u64) {
        let mut table = self.table();
        table.free.push(token as usize);
        table.slots[token as usize].requests.clear();
    }

    /// Gives up the requests that were sent before `before_ns`. Returns how many; their tokens stay taken until they are
    /// answered.
    pub(super) fn give_up(&self, before_ns: u64) -> u64 {
        let mut table = self.table();
        let mut given_up = 0;
        while let Some((token, uses)) = table.order.front().copied() {
            let slot = &mut table.slots[token];
            let is_waiting = slot.uses == uses && !slot.requests.is_empty();
            if is_waiting && slot.sent_ns >= before_ns {
                break;
            }
            if is_waiting {
                slot.is_given_up = true;
                given_up += slot.unanswered();
            }
            table.order.pop_front();
        }
        given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::request::KvOperation;

    fn requests(numbers: &[u64]) -> Vec<SentRequest> {
        let sent = |number: &u64| SentRequest {
            request: ReplayRequest { number: *number, ..ReplayRequest::of(KvOperation::Read, *number) },
            key: number.to_string().into_bytes().into(),
        };
        numbers.iter().map(sent).collect()
    }

    #[test]
    fn an_answer_finds_its_request_and_frees_its_token() {
        let table = InFlight::default();
        let one = table.add(requests(&[1]), 10, 11).unwrap();
        let two = table.add(requests(&[2, 3]), 20, 21).unwrap();
        let answered = table.answer(one, 0, true).unwrap();
        assert_eq!((&*answered.sent[0].key, answered.due_ns, answered.sent_ns), (&b"1"[..], 10, 11));
        assert_eq!(table.answer(two, 0, false).unwrap().sent[0].request.number, 2);
        assert_eq!(table.answer(two, 1, true).unwrap().sent[0].request.number, 3);
        let command = table.add(requests(&[4, 5]), 0, 0).unwrap();
        assert_eq!(table.answer(command, 0, true).unwrap().sent.len(), 2, "one answer for all of a command");
        assert!(table.answer(two, 0, true).is_none() && table.answer(99, 0, true).is_none());
    }

    #[test]
    fn what_is_overdue_is_given_up_once_and_its_late_answer_ignored() {
        let table = InFlight::default();
        let late = table.add(requests(&[1, 2]), 0, 100).unwrap();
        let answered = table.add(requests(&[3]), 0, 200).unwrap();
        table.answer(answered, 0, true).unwrap();
        let again = table.add(requests(&[4]), 0, 300).unwrap();
        assert_eq!(again, answered, "the token is used again");
        assert_eq!([table.give_up(100), table.give_up(101), table.give_up(101)], [0, 2, 0]);
        assert_eq!(table.give_up(300), 0, "the later use of the token is not overdue");
        assert!(table.answer(late, 0, false).is_none() && table.answer(late, 1, true).is_none());
        assert_eq!(table.give_up(301), 1);
    }

    #[test]
    fn what_could_not_be_sent_is_taken_back() {
        let table = InFlight::default();
        let token = table.add(requests(&[7]), 0, 1).unwrap();
        table.take_back(token);
        assert_eq!(table.give_up(u64::MAX), 0);
        assert_eq!(table.add(requests(&[8]), 0, 1), Some(token));
    }

    #[test]
    fn a_request_of_a_command_that_was_answered_is_neither_given_up_nor_answered_again() {
        let table = InFlight::default();
        let [one, two] = [(); 2].map(|()| table.add(requests(&[1, 2, 3]), 0, 1).unwrap());
        for token in [one, two] {
            assert_eq!(table.answer(token, 1, false).unwrap().sent[0].request.number, 2);
        }
        let lost: Vec<u64> = table.answer(one, 0, true).unwrap().sent.iter().map(|sent| sent.request.number).collect();
        assert_eq!(lost, [1, 3], "one answer for all that is left");
        assert_eq!(table.give_up(2), 2, "of the other command");
    }
}
