"""Changed rows: the change feed, and the difference of two versions."""
