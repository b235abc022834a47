"""Statistical tests that methods put to their rows, as functions on arrays."""
