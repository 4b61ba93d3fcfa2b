//! Decoders of others, which panic on what contradicts itself.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static IS_DECODING: Cell<bool> = const { Cell::new(false) };
}

/// What `decode` returns; `None`, and no message, if it panics. It must not leave anything half done that is used later.
pub(crate) fn catch_panic<T>(decode: impl FnOnce() -> T) -> Option<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_DECODING.get() {
                report(panic);
            }
        }));
    });
    let outer = IS_DECODING.replace(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    IS_DECODING.set(outer);
    decoded.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_and_the_next_call_works() {
        assert_eq!(catch_panic(|| -> u8 { panic!("damaged") }), None);
        assert_eq!(catch_panic(|| 7), Some(7));
    }
}
