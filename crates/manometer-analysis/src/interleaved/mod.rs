//! Interleaved plans: pressures from pairs of blocks within rounds, so that drift slower than a round cancels.
//!
//! In every round each phase runs for one block. The pressure of a phase is that of its blocks against those of `w0` in the
//! same rounds ([`pressure`](pressure_of_rounds)); whether blocks depend on the one before them is tested
//! ([`carry_over`]), and so is the state in which they begin ([`block_states`]). Reasons: `docs/decisions/0012`.

mod block;
pub mod block_states;
pub mod carry_over;
pub mod linear_model;
mod preceding;
mod pressure;

pub use self::block::{Block, RoundTable};
pub(crate) use self::block::{block_series, block_windows, blocks_of, paired};
pub(crate) use self::pressure::width_over_rounds;
pub use self::pressure::{MIN_ROUNDS, difference_p_value, pressure_of_rounds};
