"""The configuration file ``explorer.toml``: roots, stores, the server, Spark, the cache, and limits.

Invariants: the file is one frozen record, so what is in it is known and checked before anything starts; an error names
the file, the line, and the key, and no value, as some are secrets. Flags and environment variables precede it.
"""

from explorer.configuration.reading import ConfigurationFile, read_configuration
from explorer.configuration.records import Configuration, Root, Serve, Setting

__all__ = ["Configuration", "ConfigurationFile", "Root", "Serve", "Setting", "read_configuration"]
