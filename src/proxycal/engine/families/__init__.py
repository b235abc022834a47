"""A family per kind of outcome: log density of a row, with derivatives by predictor."""
