//! Least squares with groups: a response explained by indicator columns, each group with its own level.

use std::collections::BTreeMap;

use crate::statistics::SIGNIFICANCE;
use crate::statistics::student::critical_value;

/// A pivot below this share of its column's sum of squares: the column depends on those before it.
const MIN_PIVOT: f64 = 1e-9;

/// Fewer residual degrees of freedom do not judge anything.
const MIN_DEGREES_OF_FREEDOM: f64 = 5.0;

/// One observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Its group: observations of different groups are never compared.
    pub group: u32,
    /// What is explained.
    pub response: f64,
    /// The columns that explain it.
    pub columns: Vec<f64>,
}

/// A fitted model.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearModel {
    coefficients: Vec<f64>,
    /// The inverse of the matrix of normal equations.
    inverse: Vec<Vec<f64>>,
    residual_squares: f64,
    degrees_of_freedom: f64,
}

impl LinearModel {
    /// Fits the columns of `observations` after the mean of each group was taken from everything; `None` where the columns
    /// depend on each other or too few degrees of freedom are left.
    pub fn fit(observations: &[Observation]) -> Option<Self> {
        let (centred, groups) = centred(observations);
        let width = observations.first()?.columns.len();
        let product = |one: usize, other: usize| centred.iter().map(|row| row[one] * row[other]).sum::<f64>();
        // The last column is the response.
        let normal: Vec<Vec<f64>> =
            (0..width).map(|one| (0..width).map(|other| product(one, other)).collect()).collect();
        let inverse = inverse(&normal)?;
        let right: Vec<f64> = (0..width).map(|column| product(column, width)).collect();
        let coefficients: Vec<f64> = inverse.iter().map(|row| dot(row, &right)).collect();
        let residual = |row: &Vec<f64>| row[width] - dot(&row[..width], &coefficients);
        let residual_squares = centred.iter().map(|row| residual(row).powi(2)).sum();
        let degrees_of_freedom = observations.len() as f64 - groups as f64 - width as f64;
        let fitted = Self { coefficients, inverse, residual_squares, degrees_of_freedom };
        (degrees_of_freedom >= MIN_DEGREES_OF_FREEDOM).then_some(fitted)
    }

    /// The coefficient of `column` with its 95 % interval (Student's t).
    pub fn coefficient(&self, column: usize) -> Option<(f64, (f64, f64))> {
        let value = *self.coefficients.get(column)?;
        let variance = self.residual_squares / self.degrees_of_freedom * self.inverse[column][column];
        let half_width = critical_value(SIGNIFICANCE, self.degrees_of_freedom)? * variance.sqrt();
        Some((value, (value - half_width, value + half_width)))
    }
}

/// The columns and the response of each observation, less the means of its group; and the number of groups.
fn centred(observations: &[Observation]) -> (Vec<Vec<f64>>, usize) {
    let row = |one: &Observation| one.columns.iter().copied().chain([one.response]).collect::<Vec<f64>>();
    let mut groups: BTreeMap<u32, Vec<Vec<f64>>> = BTreeMap::new();
    observations.iter().for_each(|one| groups.entry(one.group).or_default().push(row(one)));
    let count = groups.len();
    (groups.into_values().flat_map(subtract_means).collect(), count)
}

fn subtract_means(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    for column in 0..rows.first().map_or(0, Vec::len) {
        let mean = rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64;
        rows.iter_mut().for_each(|row| row[column] -= mean);
    }
    rows
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The inverse of a positive definite matrix by Gauss and Jordan; `None` where it is singular.
fn inverse(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let unit = |row: usize| (0..size).map(move |column| f64::from(u8::from(row == column)));
    let mut rows: Vec<Vec<f64>> =
        matrix.iter().enumerate().map(|(row, values)| values.iter().copied().chain(unit(row)).collect()).collect();
    for pivot in 0..size {
        let value = rows[pivot][pivot];
        // Written so that a value that is not a number fails too.
        if !(value > MIN_PIVOT * matrix[pivot][pivot] && value.is_finite()) {
            return None;
        }
        rows[pivot].iter_mut().for_each(|cell| *cell /= value);
        let pivot_row = rows[pivot].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(row, _)| *row != pivot) {
            let factor = row[pivot];
            row.iter_mut().zip(&pivot_row).for_each(|(cell, above)| *cell -= factor * above);
        }
    }
    Some(rows.into_iter().map(|row| row[size..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Observations of two groups with different levels and the effects 2 and -1, plus a pattern that no column
    /// explains.
    fn observations(noise: f64) -> Vec<Observation> {
        let one = |index: u32| {
            let (group, a, b) = (index % 2, f64::from(index / 2 % 2), f64::from(index / 4 % 2));
            let pattern = [1.0, -1.0, -1.0, 1.0][(index / 8 % 4) as usize];
            let response = 100.0 * f64::from(group) + 2.0 * a - b + noise * pattern;
            Observation { group, response, columns: vec![a, b] }
        };
        (0..32).map(one).collect()
    }

    #[test]
    fn known_effects_are_found_whatever_the_levels_of_the_groups() {
        let model = LinearModel::fit(&observations(0.5)).unwrap();
        let (a, (low, high)) = model.coefficient(0).unwrap();
        assert!((a - 2.0).abs() < 1e-9 && low < 2.0 && 2.0 < high, "{a} {low} {high}");
        assert!((model.coefficient(1).unwrap().0 + 1.0).abs() < 1e-9);
        assert_eq!(model.coefficient(2), None);
        assert_eq!(model.degrees_of_freedom, 28.0);
        // 8 residuals of 0.5 in each of four cells: 8 squares, on 28 degrees of freedom, times 4 / 32 for the variance.
        let half_width = critical_value(0.05, 28.0).unwrap() * (8.0_f64 / 28.0 / 8.0).sqrt();
        assert!((high - a - half_width).abs() < 1e-9, "{} {half_width}", high - a);
    }

    #[test]
    fn columns_that_depend_on_each_other_and_too_few_observations_are_not_fitted() {
        let twice: Vec<Observation> = observations(0.5)
            .into_iter()
            .map(|one| Observation { columns: vec![one.columns[0], one.columns[0]], ..one })
            .collect();
        assert_eq!(LinearModel::fit(&twice), None);
        assert_eq!(LinearModel::fit(&observations(0.5)[..7]), None);
        assert_eq!(LinearModel::fit(&[]), None);
        let odd = Observation { group: 0, response: f64::NAN, columns: vec![1.0, f64::INFINITY] };
        let all: Vec<Observation> = observations(0.5).into_iter().chain([odd]).collect();
        assert_eq!(LinearModel::fit(&all), None);
    }
}
