"""Looking at the rows: constraints and profiles."""
