"""Design-based estimates of totals, means, ratios and quantiles: on arrays, without any bias in them."""
