"""The change data feed: the files that hold the changes of a range of versions."""
