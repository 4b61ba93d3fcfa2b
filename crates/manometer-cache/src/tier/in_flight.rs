//! Pages in transfer between memory and storage, and the jobs that wait for them.

use super::jobs::JobId;

/// The ID of a transfer.
pub type TransferId = u32;

/// Page ranges in transfer.
#[derive(Debug, Default)]
pub struct InFlightPages {
    /// The transfers; ended ones are empty ranges.
    flights: Vec<PageTransfer>,
    free: Vec<TransferId>,
}

#[derive(Debug, Default)]
struct PageTransfer {
    from: u64,
    until: u64,
    waiting: Vec<JobId>,
}

impl InFlightPages {
    /// Starts the transfer of the pages from `from` to `until` exclusive.
    pub fn begin(&mut self, from: u64, until: u64) -> TransferId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.flights.push(PageTransfer::default());
            (self.flights.len() - 1) as TransferId
        });
        let flight = &mut self.flights[id as usize];
        (flight.from, flight.until) = (from, until);
        id
    }

    /// Makes a job wait for a transfer.
    pub fn wait(&mut self, id: TransferId, job: JobId) {
        self.flights[id as usize].waiting.push(job);
    }

    /// Makes a job wait for all transfers of pages from `from` to `until` exclusive. Returns their number.
    pub fn wait_for(&mut self, from: u64, until: u64, job: JobId) -> usize {
        let over = self.flights.iter_mut().filter(|flight| flight.from < until && from < flight.until);
        over.map(|flight| flight.waiting.push(job)).count()
    }

    /// Ends a transfer. Returns its pages; its waiters are added to `waited`.
    pub fn end(&mut self, id: TransferId, waited: &mut Vec<JobId>) -> std::ops::Range<u64> {
        let flight = &mut self.flights[id as usize];
        waited.append(&mut flight.waiting);
        self.free.push(id);
        std::mem::take(&mut flight.from)..std::mem::take(&mut flight.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_pages_waits_for_every_flight_of_them() {
        let mut flights = InFlightPages::default();
        let (low, high) = (flights.begin(0, 8), flights.begin(8, 16));
        assert_eq!((flights.wait_for(7, 9, 1), flights.wait_for(8, 9, 2), flights.wait_for(16, 20, 3)), (2, 1, 0));
        flights.wait(low, 4);
        let mut waited = Vec::new();
        assert_eq!((flights.end(low, &mut waited), waited), (0..8, vec![1, 4]));
        assert_eq!(flights.wait_for(0, 8, 5), 0);
        let mut waited = Vec::new();
        assert_eq!((flights.end(high, &mut waited), waited), (8..16, vec![1, 2]));
        assert_eq!(flights.begin(3, 4), high);
    }
}
