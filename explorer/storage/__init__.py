"""Stores of bytes behind the core's `LogStore` port: the local file system, object stores and memory."""

from explorer.storage.locate import open_store

__all__ = ["open_store"]
