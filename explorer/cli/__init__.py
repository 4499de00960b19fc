"""The command ``delta-explorer``.

    delta-explorer snapshot warehouse/orders
    delta-explorer --help

In: arguments, and for ``plan`` and ``commit`` an intent as JSON.
Out: tables for people; with ``--json`` one document, or one line a row. Errors then are one JSON object on stderr. The
exit codes are in `explorer.cli.errors`.
Always: field names are the protocol's. Text from tables cannot steer the terminal. A commit is shown before it is made.
An output file appears whole or not at all. Ctrl-C cancels, and no error leaves a traceback unless ``--debug`` asks.
"""

from explorer.cli.app import main

__all__ = ["main"]
