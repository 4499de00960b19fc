"""Making a commit, and what follows it."""
