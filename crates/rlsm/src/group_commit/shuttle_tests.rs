//! The queue under `shuttle`, which explores thousands of thread schedules.

use std::sync::Arc;

use shuttle::thread;

use crate::error::Error;

/// The queue itself, with shuttle's locks.
#[expect(clippy::duplicate_mod, reason = "the same queue with shuttle's locks")]
#[path = "queue.rs"]
mod queue;

mod sync {
    use std::ops::{Deref, DerefMut};
    use std::sync::PoisonError;

    pub(super) struct Mutex<T>(shuttle::sync::Mutex<T>);

    /// `None` only while a thread waits on the condition variable.
    pub(super) struct MutexGuard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

    pub(super) struct Condvar(shuttle::sync::Condvar);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)))
        }
    }

    impl Condvar {
        pub fn new() -> Self {
            Self(shuttle::sync::Condvar::new())
        }

        pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let taken = guard.0.take().expect("the guard is held");
            guard.0 = Some(self.0.wait(taken).unwrap_or_else(PoisonError::into_inner));
        }

        pub fn notify_one(&self) {
            self.0.notify_one();
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.0.as_ref().expect("the guard is held")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().expect("the guard is held")
        }
    }
}

/// The thread that submits the request, and the request's number.
type Request = (usize, usize);

const THREADS: usize = 4;
const REQUESTS: usize = 3;

/// Threads submit requests to a queue; `work` executes a group.
fn submit_all(group_bytes: u64, work: impl Fn(&[Request]) -> crate::Result<Vec<Request>> + Copy + Send + 'static) {
    let group = Arc::new(queue::GroupCommit::<Request, Request>::new(group_bytes));
    let log = Arc::new(shuttle::sync::Mutex::new(Vec::new()));
    let is_working = Arc::new(shuttle::sync::atomic::AtomicBool::new(false));
    let threads = (0..THREADS).map(|me| {
        let (group, log, is_working) = (Arc::clone(&group), Arc::clone(&log), Arc::clone(&is_working));
        thread::spawn(move || {
            for request in (0..REQUESTS).map(|number| (me, number)) {
                let response = group.submit(
                    request,
                    1,
                    |_| {},
                    |requests| {
                        assert!(
                            !is_working.swap(true, shuttle::sync::atomic::Ordering::SeqCst),
                            "two groups at a time"
                        );
                        assert!(requests.len() as u64 <= group_bytes);
                        log.lock().unwrap().extend_from_slice(&requests);
                        let responses = work(&requests);
                        is_working.store(false, shuttle::sync::atomic::Ordering::SeqCst);
                        responses
                    },
                );
                match response {
                    Ok(response) => assert_eq!(response, request),
                    Err(error) => assert!(matches!(&error, Error::Invalid { problem } if problem == "full"), "{error}"),
                }
            }
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    let log = log.lock().unwrap();
    assert_eq!(log.len(), THREADS * REQUESTS, "each request is done once");
    for me in 0..THREADS {
        let own: Vec<usize> = log.iter().filter(|request| request.0 == me).map(|request| request.1).collect();
        assert_eq!(own, (0..REQUESTS).collect::<Vec<_>>());
    }
}

#[test]
fn every_request_is_answered_once_and_in_order() {
    shuttle::check_random(|| submit_all(2, |requests| Ok(requests.to_vec())), 3_000);
    shuttle::check_pct(|| submit_all(100, |requests| Ok(requests.to_vec())), 3_000, 3);
}

#[test]
fn an_error_reaches_every_request_of_the_group() {
    let work = |requests: &[Request]| match requests[0] {
        (0 | 2, _) => Err(Error::Invalid { problem: "full".into() }),
        _ => Ok(requests.to_vec()),
    };
    shuttle::check_random(move || submit_all(3, work), 3_000);
}

#[test]
fn two_threads_get_their_responses_in_every_schedule() {
    let run = || {
        let group = Arc::new(queue::GroupCommit::<usize, usize>::new(1));
        let threads = [0, 1].map(|me| {
            let group = Arc::clone(&group);
            thread::spawn(move || assert_eq!(group.submit(me, 1, |_| {}, Ok).unwrap(), me))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(group.queued(), 0);
    };
    shuttle::check_dfs(run, None);
}
