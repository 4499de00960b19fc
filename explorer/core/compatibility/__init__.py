"""Which clients read and write a table."""
