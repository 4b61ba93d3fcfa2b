//! A reader: one block at a random place after the other.

use std::os::unix::fs::FileExt as _;

use super::super::aligned::Aligned;
use super::super::operation::Operation;
use super::super::shared::{Halt, Shared};
use super::{Database, Places};

pub(super) fn work(database: &Database, shared: &Shared<'_>, index: u32, number: u32) -> Result<(), Halt> {
    let mut places = Places::new(database, shared, index);
    let mut memory = Aligned::new(database.request_bytes as usize);
    while shared.roster.begins(number) {
        shared.await_operation()?;
        let (file, offset) = places.next();
        let path = &database.data.paths[file as usize];
        shared.attempt(index, (Operation::Read, path), || {
            database.opened[file as usize].read_exact_at(memory.bytes(), offset)?;
            Ok(((), u64::from(database.request_bytes)))
        })?;
        if !database.supply.has_read() {
            return Ok(());
        }
    }
    Ok(())
}
