"""What happened to each demo table: one function a table."""
