//! Files of fixed size and the ways to read and write them.
