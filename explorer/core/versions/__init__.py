"""The table at each version and between versions."""
