"""View models of a table."""
