"""Table properties: keys, values, and what each may be set to."""
