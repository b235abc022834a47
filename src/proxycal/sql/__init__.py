"""A finished fit as a view of a database, where it has an answer in closed form."""
