//! The instruction set in use, for tests: users set SHOPCA_SIMD before Python starts.

use pyo3::prelude::*;

use super::to_exception;
use crate::simd::Level;

/// The names of the levels that this processor has, the best one last.
#[pyfunction]
pub(super) fn simd_levels() -> Vec<&'static str> {
    Level::available().into_iter().map(Level::name).collect()
}

/// Make every later call use the named level, or with None that of the environment.
#[pyfunction]
#[pyo3(signature = (name))]
pub(super) fn force_simd_level(name: Option<&str>) -> PyResult<()> {
    Level::force(name).map_err(to_exception)
}

/// The name of the level in use.
#[pyfunction]
pub(super) fn simd_level() -> PyResult<&'static str> {
    Level::check().map_err(to_exception)?;
    Ok(Level::current().name())
}
