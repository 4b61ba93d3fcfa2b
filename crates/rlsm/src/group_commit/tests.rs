use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use super::GroupCommit;
use crate::error::{Error, Result};

#[test]
fn a_lone_thread_executes_its_own_request() {
    let group = GroupCommit::new(100);
    for number in 0..3 {
        let response =
            group.submit(number, 1, |_| {}, |requests| Ok(requests.iter().map(|number| number * 2).collect()));
        assert_eq!(response.unwrap(), number * 2);
    }
}

/// Submits 0, holds its leader in `commit` while `others` queue up in order, then lets it go on.
fn behind_a_leader(
    group: &Arc<GroupCommit<u64, usize>>,
    others: &[u64],
    work: fn(Vec<u64>) -> Result<Vec<usize>>,
) -> Vec<Result<usize>> {
    let (leads, is_led) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let first = scope.spawn(move || {
            group.submit(
                0,
                1,
                |_| {},
                |_| {
                    leads.send(()).unwrap();
                    goes.recv().unwrap();
                    Ok(vec![1])
                },
            )
        });
        is_led.recv().unwrap();
        let mut threads = Vec::new();
        for (place, &bytes) in others.iter().enumerate() {
            threads.push(scope.spawn(move || {
                catch_unwind(AssertUnwindSafe(|| group.submit(bytes, bytes, |_| {}, work)))
                    .unwrap_or_else(|_| Err(Error::Invalid { problem: "panicked".into() }))
            }));
            while group.queued() <= place {
                thread::yield_now();
            }
        }
        go.send(()).unwrap();
        assert_eq!(first.join().unwrap().unwrap(), 1);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn a_group_takes_all_queued_requests_up_to_its_size() {
    let group = Arc::new(GroupCommit::new(100));
    let sizes = |requests: Vec<u64>| Ok(vec![requests.len(); requests.len()]);
    let responses = behind_a_leader(&group, &[10, 20, 70, 500, 1, 1], sizes);
    assert_eq!(responses.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [3, 3, 3, 1, 2, 2]);
}

#[test]
fn a_panic_of_the_leader_fails_its_followers_and_the_next_group_goes_on() {
    let group = Arc::new(GroupCommit::new(100));
    let work = |requests: Vec<u64>| {
        assert_ne!(requests[0], 50, "the work panics");
        Ok(vec![requests.len(); requests.len()])
    };
    let responses = behind_a_leader(&group, &[50, 50, 1, 2], work);
    assert!(matches!(&responses[0], Err(Error::Invalid { problem }) if problem == "panicked"));
    assert!(matches!(&responses[1], Err(Error::Poisoned { .. })));
    assert!(matches!(responses[2..], [Ok(2), Ok(2)]));
}

#[test]
fn an_error_reaches_every_request_of_the_group() {
    let group = Arc::new(GroupCommit::new(100));
    let work = |_| Err(Error::io("append to", "wal-000001")(std::io::Error::from_raw_os_error(28)));
    for response in behind_a_leader(&group, &[10, 20, 30], work) {
        let Err(Error::Io { operation: "append to", file, source }) = response else { panic!("{response:?}") };
        assert_eq!((file.as_str(), source.raw_os_error()), ("wal-000001", Some(28)));
    }
    assert_eq!(group.submit(1, 1, |_| {}, |_| Ok(vec![7])).unwrap(), 7);
}

#[test]
fn every_thread_gets_its_own_response() {
    let group = GroupCommit::new(8);
    let start = Barrier::new(8);
    thread::scope(|scope| {
        for me in 0..8_u64 {
            let (group, start) = (&group, &start);
            scope.spawn(move || {
                start.wait();
                for number in 0..2_000 {
                    let request = me << 32 | number;
                    assert_eq!(group.submit(request, 1, |_| {}, Ok).unwrap(), request);
                }
            });
        }
    });
}
