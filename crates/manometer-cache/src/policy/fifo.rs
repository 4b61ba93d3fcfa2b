//! First in, first out: evicts the object admitted first, regardless of later requests.

use super::queue::{QueueDiscipline, QueuePolicy};
use super::{CacheConfig, PolicyKind};
use crate::request::RequestFields;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "fifo",
    about: "evicts the object admitted first",
    source: "Belady, IBM Systems Journal 1966; cache thesis 3.2",
    parameters: &[],
    details: RequestFields::NONE,
    create: by_weight!(Fifo),
};

type Fifo<W> = QueuePolicy<W, AdmissionOrder>;

struct AdmissionOrder;

impl QueueDiscipline for AdmissionOrder {
    type Mark = ();

    fn new(_: &CacheConfig<'_>) -> Self {
        Self
    }
}
