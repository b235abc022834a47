"""The moment method: the size of the bias from exclusion alone."""
