//! Several threads at once.

use std::thread;

use super::subject::{every_engine_with_memory, get};

const WRITERS: u8 = 4;
const ROUNDS: u8 = 25;

#[test]
fn writers_side_by_side_lose_nothing_and_see_their_own_writes() {
    every_engine_with_memory(|subject| {
        let engine = subject.open();
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let engine = &*engine;
                scope.spawn(move || {
                    let mut session = engine.session();
                    for round in 0..ROUNDS {
                        let own = format!("own-{writer}-{round}");
                        session.put(own.as_bytes(), &[writer; 200]).unwrap();
                        assert_eq!(get(&mut *session, own.as_bytes()), Some(vec![writer; 200]));
                        let shared = format!("shared-{}", round % 5);
                        session.put(shared.as_bytes(), &[writer; 100]).unwrap();
                        let seen = get(&mut *session, shared.as_bytes()).unwrap();
                        assert!(seen[0] < WRITERS && seen == [seen[0]; 100], "{seen:?}");
                    }
                });
            }
        });
        let mut session = engine.session();
        for writer in 0..WRITERS {
            for round in 0..ROUNDS {
                assert_eq!(get(&mut *session, format!("own-{writer}-{round}").as_bytes()), Some(vec![writer; 200]));
            }
        }
    });
}

#[test]
fn readers_see_whole_values_while_others_write() {
    every_engine_with_memory(|subject| {
        let engine = subject.open();
        engine.session().put(b"hot", &[0; 5_000]).unwrap();
        thread::scope(|scope| {
            let engine = &*engine;
            scope.spawn(move || {
                let mut session = engine.session();
                for round in 1..50 {
                    session.put(b"hot", &[round; 5_000]).unwrap();
                }
            });
            for _ in 0..2 {
                scope.spawn(move || {
                    let mut session = engine.session();
                    let mut last = 0;
                    for _ in 0..500 {
                        let seen = get(&mut *session, b"hot").unwrap();
                        assert!(seen == [seen[0]; 5_000], "a torn value");
                        assert!(seen[0] >= last, "back in time");
                        last = seen[0];
                    }
                });
            }
        });
    });
}
