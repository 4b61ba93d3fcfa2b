//! Experiment file, plan, conductor, workers, recording.
