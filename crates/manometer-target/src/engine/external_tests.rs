use std::cell::{Cell, RefCell};

use super::*;

/// A server that counts how often it is emptied.
#[derive(Default)]
struct Fake {
    marker: RefCell<Option<String>>,
    others: Cell<u64>,
    may_clear: bool,
    cleared: Cell<u32>,
}

impl ExternalServer for Fake {
    fn place(&self) -> &str {
        "there:1"
    }

    fn keys(&self) -> Result<u64, EngineError> {
        Ok(self.others.get() + u64::from(self.marker.borrow().is_some()))
    }

    fn marker(&self) -> Result<Option<String>, EngineError> {
        Ok(self.marker.borrow().clone())
    }

    fn set_marker(&self, text: &str) -> Result<(), EngineError> {
        *self.marker.borrow_mut() = Some(text.to_owned());
        Ok(())
    }

    fn may_clear(&self) -> bool {
        self.may_clear
    }

    fn clear(&self) -> Result<(), EngineError> {
        self.cleared.set(self.cleared.get() + 1);
        self.others.set(0);
        *self.marker.borrow_mut() = None;
        Ok(())
    }
}

fn marker() -> DatabaseManifest {
    DatabaseManifest {
        engine: "redis".to_owned(),
        engine_version: "1".to_owned(),
        options: serde_json::json!({"address": "there:1"}),
        records: 10,
        form: "ycsb".to_owned(),
        value_bytes: 1000,
        load: "bulk".to_owned(),
        seed: 1,
        changed: false,
        made_at_unix_ns: 0,
        loaded: false,
    }
}

/// A server into which ten records were loaded.
fn loaded(may_clear: bool) -> Fake {
    let server = Fake { may_clear, ..Fake::default() };
    let mut data = ExternalData::prepare(&server, marker(), DatabaseReuse::Remake).unwrap();
    assert!(!data.is_reused());
    server.others.set(10);
    data.write(&server, true).unwrap();
    server.cleared.set(0);
    server
}

#[test]
fn a_server_with_others_keys_is_refused_and_left_alone() {
    let server = Fake { others: Cell::new(3), ..Fake::default() };
    for existing in [DatabaseReuse::Remake, DatabaseReuse::Reuse, DatabaseReuse::Renew] {
        let error = ExternalData::prepare(&server, marker(), existing).unwrap_err().to_string();
        assert!(error.contains("there:1 holds 3 keys") && error.contains("flush = true"), "{error}");
    }
    assert_eq!((server.cleared.get(), server.keys().unwrap()), (0, 3));
}

#[test]
fn a_server_with_others_keys_is_emptied_when_allowed() {
    let server = Fake { others: Cell::new(3), may_clear: true, ..Fake::default() };
    assert!(!ExternalData::prepare(&server, marker(), DatabaseReuse::Remake).unwrap().is_reused());
    assert_eq!(server.cleared.get(), 1);
}

#[test]
fn our_own_data_is_used_or_written_over_as_a_folders_is() {
    let server = loaded(false);
    assert!(ExternalData::prepare(&server, marker(), DatabaseReuse::Reuse).unwrap().is_reused());
    assert!(ExternalData::prepare(&server, marker(), DatabaseReuse::Renew).unwrap().is_reused());
    assert!(!ExternalData::prepare(&server, marker(), DatabaseReuse::Remake).unwrap().is_reused());
    assert_eq!(server.cleared.get(), 0);
}

#[test]
fn keys_beside_our_own_data_are_others() {
    let server = loaded(false);
    server.others.set(12);
    let error = ExternalData::prepare(&server, marker(), DatabaseReuse::Remake).unwrap_err().to_string();
    assert!(error.contains("holds 2 keys"), "{error}");
}

#[test]
fn another_experiments_data_is_not_written_over_unless_allowed() {
    let other = || DatabaseManifest { records: 11, ..marker() };
    let server = loaded(false);
    for existing in [DatabaseReuse::Remake, DatabaseReuse::Reuse, DatabaseReuse::Renew] {
        let error = ExternalData::prepare(&server, other(), existing).unwrap_err().to_string();
        assert!(error.contains("records 10, wanted 11") && error.contains("flush = true"), "{error}");
    }
    let server = loaded(true);
    assert!(!ExternalData::prepare(&server, other(), DatabaseReuse::Renew).unwrap().is_reused());
    assert_eq!(server.cleared.get(), 1);
}

#[test]
fn saying_how_to_get_there_does_not_make_it_another_experiment() {
    let server = loaded(true);
    let options = serde_json::json!({"address": "localhost:1", "flush": true});
    assert!(
        ExternalData::prepare(&server, DatabaseManifest { options, ..marker() }, DatabaseReuse::Reuse)
            .unwrap()
            .is_reused()
    );
    assert_eq!(server.cleared.get(), 0);
}

#[test]
fn a_load_that_was_cut_short_is_loaded_again() {
    let server = Fake::default();
    ExternalData::prepare(&server, marker(), DatabaseReuse::Remake).unwrap();
    server.others.set(4);
    assert!(!ExternalData::prepare(&server, marker(), DatabaseReuse::Reuse).unwrap().is_reused());
}

#[test]
fn a_server_that_holds_other_than_was_loaded_is_not_taken_for_loaded() {
    for (keys, renewed) in [(9, Some(false)), (11, None)] {
        let server = loaded(false);
        server.others.set(keys);
        let error = ExternalData::prepare(&server, marker(), DatabaseReuse::Reuse).unwrap_err().to_string();
        assert!(error.contains(&format!("holds {keys} keys")) && error.contains("loaded 10 records"), "{error}");
        assert_eq!(
            error.contains("without `--reuse`"),
            keys < 10,
            "with others' keys it would be refused again: {error}"
        );
        let renew = ExternalData::prepare(&server, marker(), DatabaseReuse::Renew);
        assert_eq!(
            renew.ok().map(|data| data.is_reused()),
            renewed,
            "what lacks is loaded again, what is others' stays"
        );
        let server = loaded(true);
        server.others.set(keys);
        assert!(!ExternalData::prepare(&server, marker(), DatabaseReuse::Reuse).unwrap().is_reused());
        assert_eq!(server.cleared.get(), 1);
    }
}
