//! The metadata service on the engine rlsm.

#[path = "../../examples/rlsm/key_value.rs"]
mod key_value;

use ::rlsm::Database;
use manometer_testing::scratch_directory;

use self::key_value::RlsmKeyValue;
use crate::metadata::{check_coherence, check_data, check_round_trips};

#[test]
fn round_trips_coherence_content_and_what_is_left_after_closing() {
    let directory = tempfile::tempdir_in(scratch_directory()).unwrap();
    let path = directory.path().join("database");
    let store = RlsmKeyValue::new(Database::open(&path).unwrap());
    check_round_trips(&store);
    check_coherence(&store);
    drop(store);
    let store = RlsmKeyValue::new(Database::open(&path).unwrap());
    check_data(&store);
    assert!(!store.holds_something_else().unwrap());
}

#[test]
fn a_database_of_somebody_else_is_known() {
    let directory = tempfile::tempdir_in(scratch_directory()).unwrap();
    let database = Database::open(directory.path().join("database")).unwrap();
    database.put(b"key", b"value").unwrap();
    assert!(RlsmKeyValue::new(database).holds_something_else().unwrap());
    let empty = Database::open(directory.path().join("empty")).unwrap();
    assert!(!RlsmKeyValue::new(empty).holds_something_else().unwrap());
}
