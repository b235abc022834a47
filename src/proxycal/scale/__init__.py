"""Work on tables that are larger than memory."""
