"""``python -m explorer.cli``, the same as ``delta-explorer``."""

from explorer.cli import main

main()
