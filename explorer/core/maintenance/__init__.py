"""Changes that make no version: checkpoint, compaction, log clean-up, vacuum."""
