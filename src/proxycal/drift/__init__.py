"""What new rows have that the fitted ones had not: other units, other values, a report that behaves otherwise."""
