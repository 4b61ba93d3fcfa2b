//! Jobs: operations that wait for several requests.

/// The ID of a job.
pub type JobId = u32;

/// The jobs in progress and their waiters.
#[derive(Debug)]
pub struct Jobs<W> {
    jobs: Vec<Job<W>>,
    free: Vec<JobId>,
}

#[derive(Debug)]
struct Job<W> {
    pending: u32,
    waiter: Option<W>,
}

impl<W> Default for Jobs<W> {
    fn default() -> Self {
        Self { jobs: Vec::new(), free: Vec::new() }
    }
}

impl<W> Jobs<W> {
    /// Opens a job with one request: it ends when [`Self::done`] was called once more than [`Self::add`].
    pub fn open(&mut self, waiter: W) -> JobId {
        let job = Job { pending: 1, waiter: Some(waiter) };
        match self.free.pop() {
            Some(id) => {
                self.jobs[id as usize] = job;
                id
            }
            None => {
                self.jobs.push(job);
                (self.jobs.len() - 1) as JobId
            }
        }
    }

    /// Adds a request to a job.
    pub fn add(&mut self, id: JobId) {
        self.jobs[id as usize].pending += 1;
    }

    /// Completes a request. Returns the waiter if it was the job's last.
    pub fn done(&mut self, id: JobId) -> Option<W> {
        let job = &mut self.jobs[id as usize];
        job.pending -= 1;
        if job.pending > 0 {
            return None;
        }
        self.free.push(id);
        job.waiter.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_request_returns_who_waited() {
        let mut jobs = Jobs::default();
        let (first, second) = (jobs.open('a'), jobs.open('b'));
        jobs.add(first);
        assert_eq!((jobs.done(first), jobs.done(second), jobs.done(first)), (None, Some('b'), Some('a')));
        assert_eq!(jobs.open('c'), first);
    }
}
