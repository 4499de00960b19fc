"""Arrow arrays and Parquet row groups, as the core uses them."""
