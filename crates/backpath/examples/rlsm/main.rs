//! A metadata store over the engine rlsm, and how often it asks the engine: `rlsm FOLDER`, a new folder.

#![expect(clippy::print_stdout, reason = "its output is its result")]

mod key_value;

use std::error::Error;

use backpath::metadata::MetadataStore;
use backpath::{Credentials, Operation, Options, Query};

use self::key_value::RlsmKeyValue;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("rlsm FOLDER")?;
    let names = RlsmKeyValue::new(rlsm::Database::open(&folder)?);
    if names.holds_something_else()? {
        return Err(format!("{folder} holds another database").into());
    }
    let store = MetadataStore::open_on(names, Options::default())?;
    let (root, user) = (Credentials::root(), Credentials::new(1000, 1000, &[]));
    let mut path = String::new();
    println!("depth  cold  warm  without a cache");
    for depth in 1..=10 {
        let file = format!("{path}/file");
        store.act(&Operation::Create(file.as_bytes(), 0o644), &root, 0)?;
        let before = store.round_trips();
        store.open(&Query::new(file.as_bytes()), &user)?;
        let cold = store.round_trips();
        store.open(&Query::new(file.as_bytes()), &user)?;
        let warm = store.round_trips();
        store.open_from_the_front(file.as_bytes(), &user)?;
        println!("{depth:5} {:5} {:5} {:16}", cold - before, warm - cold, store.round_trips() - warm);
        path = format!("{path}/directory");
        store.act(&Operation::MakeDirectory(path.as_bytes(), 0o755), &root, 0)?;
    }
    Ok(())
}
