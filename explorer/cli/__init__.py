"""The command ``delta-explorer``.

    delta-explorer snapshot warehouse/orders
    delta-explorer --help

Every command takes ``--json``: one document, or one line a row. Errors then are one JSON object on stderr. The exit
codes are in `explorer.cli.errors`.
"""

from explorer.cli.app import main

__all__ = ["main"]
