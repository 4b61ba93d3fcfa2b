//! What a result or an advice may be used for.

use serde::{Deserialize, Serialize};

/// What a result, an advice or a sentence of it may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// For conclusions: nothing known threatens them seriously.
    #[default]
    Sound,
    /// As an indication: something may have changed the result, and a repetition has to confirm it.
    Indicative,
    /// For no conclusion.
    Void,
}

impl Grade {
    /// `sound`, `indicative` or `void`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Indicative => "indicative",
            Self::Void => "void",
        }
    }
}
