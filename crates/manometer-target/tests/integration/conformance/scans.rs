//! Scans in key order.

use std::ops::ControlFlow;

use manometer_target::engine::{EngineError, EngineSession, ScanDirection};

use super::subject::{every_engine_without_order, every_ordered_engine};

const FORWARD: ScanDirection = ScanDirection::Forward;
const BACKWARD: ScanDirection = ScanDirection::Backward;

/// The keys that a scan visits, up to `most`. Checks their values.
fn keys(session: &mut dyn EngineSession, start: Option<&str>, direction: ScanDirection, most: usize) -> Vec<String> {
    let mut found = Vec::new();
    session
        .scan(start.map(str::as_bytes), direction, &mut |key, value| {
            assert_eq!(value, [key, b"!"].concat());
            found.push(String::from_utf8(key.to_vec()).unwrap());
            if found.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    found
}

const ALL: usize = usize::MAX;

#[test]
fn records_come_in_order_either_way_from_any_start() {
    every_ordered_engine(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        for key in ["m", "c", "x", "ca", "e"] {
            session.put(key.as_bytes(), format!("{key}!").as_bytes()).unwrap();
        }
        let cases: [(Option<&str>, ScanDirection, &[&str]); 12] = [
            (None, FORWARD, &["c", "ca", "e", "m", "x"]),
            (None, BACKWARD, &["x", "m", "e", "ca", "c"]),
            (Some("e"), FORWARD, &["e", "m", "x"]),
            (Some("e"), BACKWARD, &["e", "ca", "c"]),
            (Some("d"), FORWARD, &["e", "m", "x"]),
            (Some("d"), BACKWARD, &["ca", "c"]),
            (Some("a"), FORWARD, &["c", "ca", "e", "m", "x"]),
            (Some("a"), BACKWARD, &[]),
            (Some("z"), FORWARD, &[]),
            (Some("z"), BACKWARD, &["x", "m", "e", "ca", "c"]),
            (Some("x"), FORWARD, &["x"]),
            (Some("c"), BACKWARD, &["c"]),
        ];
        for (start, direction, wanted) in cases {
            assert_eq!(keys(&mut *session, start, direction, ALL), wanted, "{start:?} {direction:?}");
        }
    });
}

#[test]
fn a_scan_ends_when_its_visitor_breaks_and_the_next_starts_again() {
    every_ordered_engine(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        for key in ["a", "b", "c", "d"] {
            session.put(key.as_bytes(), format!("{key}!").as_bytes()).unwrap();
        }
        assert_eq!(keys(&mut *session, None, FORWARD, 1), ["a"]);
        assert_eq!(keys(&mut *session, None, BACKWARD, 2), ["d", "c"]);
        session.delete(b"a").unwrap();
        session.put(b"e", b"e!").unwrap();
        assert_eq!(keys(&mut *session, None, FORWARD, 2), ["b", "c"]);
        assert_eq!(keys(&mut *session, None, BACKWARD, 1), ["e"]);
        assert_eq!(session.get(b"c").unwrap(), Some(b"c!".as_slice()));
    });
}

#[test]
fn nothing_is_visited_where_nothing_is() {
    every_ordered_engine(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        for direction in [FORWARD, BACKWARD] {
            for start in [None, Some("k"), Some("")] {
                assert_eq!(keys(&mut *session, start, direction, ALL), [""; 0], "{start:?} {direction:?}");
            }
        }
    });
}

#[test]
fn an_engine_without_order_says_so() {
    every_engine_without_order(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        session.put(b"a", b"a!").unwrap();
        let error = session.scan(None, FORWARD, &mut |_, _| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(error, EngineError::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains(subject.info.name), "{error}");
    });
}
