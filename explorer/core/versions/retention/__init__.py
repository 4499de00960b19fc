"""Which versions can be read, and until when."""
