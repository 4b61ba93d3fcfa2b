//! The plans of a run, one after the other: each change of settings adds one.
//!
//! A plan stays for as long as the run, since threads hold on to it until they have seen the next one.

use std::sync::OnceLock;

use super::plan::KvPlan;

/// A plan, and those that came after it.
#[derive(Debug)]
pub(super) struct PlanHistory {
    plan: KvPlan,
    next: OnceLock<Box<PlanHistory>>,
}

impl PlanHistory {
    /// A first plan.
    pub(super) fn new(plan: KvPlan) -> Self {
        Self { plan, next: OnceLock::new() }
    }

    /// The plan in force.
    pub(super) fn latest(&self) -> &KvPlan {
        &self.last().plan
    }

    /// Puts `plan` into force. Only one thread may do so.
    pub(super) fn add(&self, plan: KvPlan) {
        let _ = self.last().next.set(Box::new(Self::new(plan)));
    }

    fn last(&self) -> &Self {
        let mut last = self;
        while let Some(next) = last.next.get() {
            last = next;
        }
        last
    }
}
