"""View models of rows."""
