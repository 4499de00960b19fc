"""The files of the log: listing, segment, commits, checkpoint, replay."""
