//! Recordings and charts become one page.
