"""After the calibration: completed tables, pooled regressions, coefficients, surveys."""
