"""From a snapshot to a DataFrame of its rows."""
