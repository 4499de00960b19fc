"""Rows for people: previews, pages, the history of a key."""
