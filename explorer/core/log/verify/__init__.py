"""Verifying a log against itself."""
