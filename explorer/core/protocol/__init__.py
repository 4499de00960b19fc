"""What stands in the files of a table: records, and the rules of single values. Lists nothing, opens nothing."""
