//! The rule by which costs are computed.

/// What a cost includes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CostRule {
    /// The amount to be paid for devices and, over some years, for their energy and for replacing worn SSDs.
    Money {
        /// The number of years; without it only devices are counted.
        years: Option<f64>,
    },
    /// The price per GB of every device, a cache's in proportion to its share of the origin's size. This is not an
    /// amount to be paid; it compares arrangements independently of device sizes.
    PerGb,
}
