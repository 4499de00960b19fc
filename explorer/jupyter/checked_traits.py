"""Traits whose values the widget checks: a wrong one is a typed error, is said in the widget, and changes nothing."""

from __future__ import annotations

from typing import Any

import traitlets

__all__ = ["Checked"]


class Checked(traitlets.TraitType[Any, Any]):
    """A trait whose owner says what a value means: its ``taken`` returns the value to keep, or raises.

    It is asked at the assignment itself, also while notifications are held.
    """

    def validate(self, obj: Any, value: Any) -> Any:
        return obj.taken(self.name, value)
