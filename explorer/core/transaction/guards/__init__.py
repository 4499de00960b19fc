"""The preconditions of a commit."""
