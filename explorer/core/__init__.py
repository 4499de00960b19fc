"""The Delta transaction-log protocol: no network, no Spark, no user interface, no clock."""
