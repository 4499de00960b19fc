"""The lifetime of every logical file, in columns."""
