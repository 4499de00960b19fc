"""Statistics of files: how they are read, written, compared and used for data skipping."""
