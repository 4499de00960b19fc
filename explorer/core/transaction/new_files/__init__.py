"""Data files that a commit adds."""
