"""How much the tests try: a small dose on every run, the whole dose under ``make prove``."""

import os
from typing import Final

__all__ = ["WHOLE_DOSE"]

WHOLE_DOSE: Final = os.environ.get("HYPOTHESIS_PROFILE") == "prove"
