//! The queue: one of the waiting threads leads, executes a group of requests, and hands each thread its result.

use std::collections::VecDeque;
use std::sync::Arc;
use std::{iter, mem};

use super::sync::{Condvar, Mutex};
use crate::error::{Error, Result};

/// Executes the requests of many threads in groups, in the order of arrival.
pub(crate) struct GroupCommit<Request, Response> {
    /// A group is closed once it holds this many bytes.
    group_bytes: u64,
    state: Mutex<QueueState<Request, Response>>,
}

struct QueueState<Request, Response> {
    /// Whether a thread leads. While none does, the queue is empty.
    is_led: bool,
    waiting: VecDeque<QueuedRequest<Request, Response>>,
}

struct QueuedRequest<Request, Response> {
    request: Request,
    bytes: u64,
    waiter: Arc<Waiter<Response>>,
}

/// Where a queued thread waits.
struct Waiter<Response> {
    wakeup: Mutex<Wakeup<Response>>,
    changed: Condvar,
}

enum Wakeup<Response> {
    Pending,
    /// The thread is first in the queue and leads the next group.
    Lead,
    Done(Result<Response>),
}

impl<Request, Response> GroupCommit<Request, Response> {
    /// Groups hold up to about `group_bytes`.
    pub fn new(group_bytes: u64) -> Self {
        Self { group_bytes, state: Mutex::new(QueueState { is_led: false, waiting: VecDeque::new() }) }
    }

    /// Executes `request`, which counts `bytes`, on this thread or another, and returns its result.
    ///
    /// `linger` may wait for more requests; it is passed a function that returns how many are queued. `commit` executes
    /// a group in order and returns a response for each request. Calls of the two never overlap those of another group.
    /// If `commit` fails, all of its group get the error; if it panics, the others of the group get an error.
    pub fn submit(
        &self,
        request: Request,
        bytes: u64,
        linger: impl FnOnce(&dyn Fn() -> usize),
        commit: impl FnOnce(Vec<Request>) -> Result<Vec<Response>>,
    ) -> Result<Response> {
        let mut state = self.state.lock();
        if !state.is_led {
            state.is_led = true;
            drop(state);
            linger(&|| self.queued());
            let (more, followers) = self.take_group(0, self.group_bytes.saturating_sub(bytes));
            return self.lead(iter::once(request).chain(more).collect(), followers, commit);
        }
        let waiter = Arc::new(Waiter::new());
        state.waiting.push_back(QueuedRequest { request, bytes, waiter: Arc::clone(&waiter) });
        drop(state);
        waiter.wait().unwrap_or_else(|| {
            linger(&|| self.queued() - 1);
            let (requests, mut followers) = self.take_group(1, self.group_bytes);
            followers.remove(0);
            self.lead(requests, followers, commit)
        })
    }

    /// The number of queued requests.
    pub fn queued(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// Takes requests from the front of the queue: at least `least`, up to about `left` bytes.
    fn take_group(&self, least: usize, mut left: u64) -> (Vec<Request>, Vec<Arc<Waiter<Response>>>) {
        let mut state = self.state.lock();
        let fitting = state.waiting.iter().take_while(|waiting| {
            let is_begun = left > 0;
            left = left.saturating_sub(waiting.bytes);
            is_begun
        });
        let len = fitting.count().max(least);
        state.waiting.drain(..len).map(|waiting| (waiting.request, waiting.waiter)).unzip()
    }

    fn lead(
        &self,
        requests: Vec<Request>,
        followers: Vec<Arc<Waiter<Response>>>,
        commit: impl FnOnce(Vec<Request>) -> Result<Vec<Response>>,
    ) -> Result<Response> {
        let requested = requests.len();
        let leading = LeaderGuard { group: self, followers };
        match commit(requests) {
            Ok(responses) => {
                assert_eq!(responses.len(), requested, "`commit` returns one response for each request");
                let mut responses = responses.into_iter().map(Ok);
                let own = responses.next().expect("the leader's own request is in its group");
                leading.end(responses);
                own
            }
            Err(error) => {
                leading.end(iter::repeat_with(|| Err(error.again())));
                Err(error)
            }
        }
    }

    /// Makes the first queued thread the next leader, if there is one.
    fn hand_over(&self) {
        let mut state = self.state.lock();
        let next = state.waiting.front().map(|waiting| Arc::clone(&waiting.waiter));
        state.is_led = next.is_some();
        drop(state);
        if let Some(next) = next {
            next.wake(Wakeup::Lead);
        }
    }
}

/// Held while a thread leads. However that ends, the next thread leads and every follower is woken.
struct LeaderGuard<'a, Request, Response> {
    group: &'a GroupCommit<Request, Response>,
    followers: Vec<Arc<Waiter<Response>>>,
}

impl<Request, Response> LeaderGuard<'_, Request, Response> {
    /// Lets the next group begin, then hands the followers of this one their results.
    fn end(mut self, outcomes: impl Iterator<Item = Result<Response>>) {
        let followers = mem::take(&mut self.followers);
        drop(self);
        for (waiter, outcome) in followers.into_iter().zip(outcomes) {
            waiter.wake(Wakeup::Done(outcome));
        }
    }
}

impl<Request, Response> Drop for LeaderGuard<'_, Request, Response> {
    fn drop(&mut self) {
        self.group.hand_over();
        for waiter in self.followers.drain(..) {
            let reason = "the leader of the write group panicked".to_owned();
            waiter.wake(Wakeup::Done(Err(Error::Poisoned { reason })));
        }
    }
}

impl<Response> Waiter<Response> {
    fn new() -> Self {
        Self { wakeup: Mutex::new(Wakeup::Pending), changed: Condvar::new() }
    }

    fn wake(&self, wakeup: Wakeup<Response>) {
        *self.wakeup.lock() = wakeup;
        self.changed.notify_one();
    }

    /// Waits for the result; `None` if this thread is to lead.
    fn wait(&self) -> Option<Result<Response>> {
        let mut wakeup = self.wakeup.lock();
        loop {
            match mem::replace(&mut *wakeup, Wakeup::Pending) {
                Wakeup::Pending => self.changed.wait(&mut wakeup),
                Wakeup::Lead => return None,
                Wakeup::Done(response) => return Some(response),
            }
        }
    }
}
