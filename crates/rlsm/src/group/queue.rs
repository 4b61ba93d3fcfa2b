//! The queue: one of those who wait leads, does what all have asked for, and tells each what came of it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::{iter, mem};

use super::sync::{Condvar, Mutex};
use crate::error::{Error, Result};

/// Requests of many threads, done in groups, in the order in which they came.
pub(crate) struct Group<Request, Answer> {
    /// A group is closed when it holds so many bytes.
    group_bytes: u64,
    state: Mutex<State<Request, Answer>>,
}

struct State<Request, Answer> {
    /// Whether someone leads. If nobody does, nobody waits.
    is_led: bool,
    waiting: VecDeque<Waiting<Request, Answer>>,
}

struct Waiting<Request, Answer> {
    request: Request,
    bytes: u64,
    told: Arc<Told<Answer>>,
}

/// Where one who waits is told what to do.
struct Told<Answer> {
    news: Mutex<News<Answer>>,
    changed: Condvar,
}

enum News<Answer> {
    None,
    /// The one told is first in the queue, and leads from now on.
    Lead,
    Done(Result<Answer>),
}

impl<Request, Answer> Group<Request, Answer> {
    /// Groups of up to about `group_bytes`.
    pub fn new(group_bytes: u64) -> Self {
        Self { group_bytes, state: Mutex::new(State { is_led: false, waiting: VecDeque::new() }) }
    }

    /// Has `request`, which counts `bytes`, done, by this thread or another, and returns what came of it.
    ///
    /// `gather` may wait for more to come, which are asked for by how many wait. `work` does a group in order and returns
    /// an answer for each request. Of both together one call runs at a time. If `work` fails, all of its group get the
    /// error; if it panics, the others of the group get an error.
    pub fn submit(
        &self,
        request: Request,
        bytes: u64,
        gather: impl FnOnce(&dyn Fn() -> usize),
        work: impl FnOnce(Vec<Request>) -> Result<Vec<Answer>>,
    ) -> Result<Answer> {
        let mut state = self.state.lock();
        if !state.is_led {
            state.is_led = true;
            drop(state);
            gather(&|| self.waiting());
            let (more, followers) = self.take(0, self.group_bytes.saturating_sub(bytes));
            return self.lead(iter::once(request).chain(more).collect(), followers, work);
        }
        let told = Arc::new(Told::new());
        state.waiting.push_back(Waiting { request, bytes, told: Arc::clone(&told) });
        drop(state);
        told.wait().unwrap_or_else(|| {
            gather(&|| self.waiting() - 1);
            let (requests, mut followers) = self.take(1, self.group_bytes);
            followers.remove(0);
            self.lead(requests, followers, work)
        })
    }

    /// How many wait for a leader to take them up.
    pub fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// Takes those that are first in the queue, at least so many, up to `left` bytes.
    fn take(&self, least: usize, mut left: u64) -> (Vec<Request>, Vec<Arc<Told<Answer>>>) {
        let mut state = self.state.lock();
        let fitting = state.waiting.iter().take_while(|waiting| {
            let is_begun = left > 0;
            left = left.saturating_sub(waiting.bytes);
            is_begun
        });
        let len = fitting.count().max(least);
        state.waiting.drain(..len).map(|waiting| (waiting.request, waiting.told)).unzip()
    }

    fn lead(
        &self,
        requests: Vec<Request>,
        followers: Vec<Arc<Told<Answer>>>,
        work: impl FnOnce(Vec<Request>) -> Result<Vec<Answer>>,
    ) -> Result<Answer> {
        let asked = requests.len();
        let leading = Leading { group: self, followers };
        match work(requests) {
            Ok(answers) => {
                assert_eq!(answers.len(), asked, "each request has one answer");
                let mut answers = answers.into_iter().map(Ok);
                let own = answers.next().expect("the leader asked for something too");
                leading.end(answers);
                own
            }
            Err(error) => {
                leading.end(iter::repeat_with(|| Err(error.again())));
                Err(error)
            }
        }
    }

    /// Makes the first of the queue the next leader, if there is one.
    fn pass_on(&self) {
        let mut state = self.state.lock();
        let next = state.waiting.front().map(|waiting| Arc::clone(&waiting.told));
        state.is_led = next.is_some();
        drop(state);
        if let Some(next) = next {
            next.tell(News::Lead);
        }
    }
}

/// The time in which a thread leads. However it ends, the next one leads and the followers are told something.
struct Leading<'a, Request, Answer> {
    group: &'a Group<Request, Answer>,
    followers: Vec<Arc<Told<Answer>>>,
}

impl<Request, Answer> Leading<'_, Request, Answer> {
    /// Lets the next group begin, then tells the followers of this one.
    fn end(mut self, outcomes: impl Iterator<Item = Result<Answer>>) {
        let followers = mem::take(&mut self.followers);
        drop(self);
        for (told, outcome) in followers.into_iter().zip(outcomes) {
            told.tell(News::Done(outcome));
        }
    }
}

impl<Request, Answer> Drop for Leading<'_, Request, Answer> {
    fn drop(&mut self) {
        self.group.pass_on();
        for told in self.followers.drain(..) {
            let reason = "the thread that wrote for several panicked".to_owned();
            told.tell(News::Done(Err(Error::Poisoned { reason })));
        }
    }
}

impl<Answer> Told<Answer> {
    fn new() -> Self {
        Self { news: Mutex::new(News::None), changed: Condvar::new() }
    }

    fn tell(&self, news: News<Answer>) {
        *self.news.lock() = news;
        self.changed.notify_one();
    }

    /// Waits for the answer; `None` if the one told is to lead.
    fn wait(&self) -> Option<Result<Answer>> {
        let mut news = self.news.lock();
        loop {
            match mem::replace(&mut *news, News::None) {
                News::None => self.changed.wait(&mut news),
                News::Lead => return None,
                News::Done(answer) => return Some(answer),
            }
        }
    }
}
