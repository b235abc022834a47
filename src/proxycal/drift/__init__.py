"""What new rows have that the fitted ones had not: other units, other values, other reports."""
