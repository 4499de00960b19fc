"""What happened to each demo table, told as one function a table."""
