//! The `manometer` command line.

fn main() {}
