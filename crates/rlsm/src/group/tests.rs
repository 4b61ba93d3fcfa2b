use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use super::Group;
use crate::error::{Error, Result};

#[test]
fn one_alone_does_its_own_work() {
    let group = Group::new(100);
    for number in 0..3 {
        let answer = group.submit(number, 1, |_| {}, |requests| Ok(requests.iter().map(|number| number * 2).collect()));
        assert_eq!(answer.unwrap(), number * 2);
    }
}

/// Submits 0 and holds its leader in its work while `others` queue up in turn, then lets it go on.
fn behind_a_leader(
    group: &Arc<Group<u64, usize>>,
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
                    .unwrap_or_else(|_| Err(Error::Invalid { what: "panicked".into() }))
            }));
            while group.waiting() <= place {
                thread::yield_now();
            }
        }
        go.send(()).unwrap();
        assert_eq!(first.join().unwrap().unwrap(), 1);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn a_group_is_all_that_waits_up_to_its_bytes() {
    let group = Arc::new(Group::new(100));
    let sizes = |requests: Vec<u64>| Ok(vec![requests.len(); requests.len()]);
    let answers = behind_a_leader(&group, &[10, 20, 70, 500, 1, 1], sizes);
    assert_eq!(answers.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [3, 3, 3, 1, 2, 2]);
}

#[test]
fn when_a_leader_panics_its_followers_get_an_error_and_the_next_group_is_done() {
    let group = Arc::new(Group::new(100));
    let work = |requests: Vec<u64>| {
        assert_ne!(requests[0], 50, "the work panics");
        Ok(vec![requests.len(); requests.len()])
    };
    let answers = behind_a_leader(&group, &[50, 50, 1, 2], work);
    assert!(matches!(&answers[0], Err(Error::Invalid { what }) if what == "panicked"));
    assert!(matches!(&answers[1], Err(Error::Poisoned { .. })));
    assert!(matches!(answers[2..], [Ok(2), Ok(2)]));
}

#[test]
fn when_the_work_fails_all_of_its_group_get_the_error() {
    let group = Arc::new(Group::new(100));
    let work = |_| Err(Error::io("append to", "wal-000001")(std::io::Error::from_raw_os_error(28)));
    for answer in behind_a_leader(&group, &[10, 20, 30], work) {
        let Err(Error::Io { doing: "append to", file, source }) = answer else { panic!("{answer:?}") };
        assert_eq!((file.as_str(), source.raw_os_error()), ("wal-000001", Some(28)));
    }
    assert_eq!(group.submit(1, 1, |_| {}, |_| Ok(vec![7])).unwrap(), 7);
}

#[test]
fn many_threads_each_get_their_own_answers() {
    let group = Group::new(8);
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
