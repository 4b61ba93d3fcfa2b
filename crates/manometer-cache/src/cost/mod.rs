//! What arrangements of disks and SSDs cost for what they do.
//!
//! [`Prices`] and [`Outcome`]s are read from files and checked; [`bill()`] sets one against the other, [`verdict`]
//! finds the cheapest arrangement that meets goals, and [`break_even()`] the price at which an SSD cache begins to pay.

mod bill;
mod break_even;
mod goal;
mod level;
mod life;
mod number;
mod outcome;
mod parts;
mod price;
mod price_file;

pub use bill::{Bill, Cost, Rule, bill};
pub use break_even::{BreakEven, break_even};
pub use goal::{Goal, Measure, Verdict, verdict};
pub use level::{Level, Raid};
pub use life::Life;
pub use outcome::{Outcome, outcomes};
pub use price::{Electricity, Kind, Price, Prices};
