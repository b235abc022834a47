"""The one reader of tables: what a file holds, whatever program wrote it."""
