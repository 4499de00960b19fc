"""Writing checkpoints, version checksums and compacted logs."""
