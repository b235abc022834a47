"""A bias that grades with the environment: b(E) under exclusion, from sufficient statistics."""
