"""From an intent to a commit."""
