"""What a commit needs of the rows: matches, rewrites, rows to append."""
