//! The cost of arrangements of disks and SSDs for their throughput.
//!
//! [`Prices`] and [`ArrangementResult`]s are read from files and checked. [`compute_costs`] computes the costs,
//! [`evaluate_goals`] finds the cheapest arrangement that reaches goals, and [`break_even()`] the price at which an SSD
//! cache begins to pay.

mod bill;
mod break_even;
mod device_level;
mod goal;
mod parts;
mod positive;
mod price;
mod price_age;
mod price_as;
mod price_file;
mod result;
mod rule;
mod ssd_life;

pub use bill::{ArrangementCost, CostReport, compute_costs};
pub use break_even::{BreakEven, break_even};
pub use device_level::DeviceLevel;
pub use goal::{CostGoal, GoalMetric, GoalVerdict, evaluate_goals};
pub use price::{DeviceKind, Electricity, Price, Prices};
pub use price_age::{is_price_old, price_age_years};
pub use price_as::price_as;
pub use result::{ArrangementResult, read_results};
pub use rule::CostRule;
pub use ssd_life::SsdLife;
