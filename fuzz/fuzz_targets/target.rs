#![no_main]

use std::sync::LazyLock;

use manometer_fuzz::Target;

static TARGET: LazyLock<Target> = LazyLock::new(Target::from_environment);

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| TARGET.run(bytes));
