"""Requested changes: one record for each kind of change, and its JSON.

In: a JSON document, or a record that a program makes.
Out: an intent: plain data, without a word on how the change is made.
Always: an unknown kind or field is refused with the nearest one, before any table is read. A record is shown as it was
written. Keys that carry a meaning of the protocol are refused where they cannot be set by hand.

Protocol section: Requirements for Writers.
"""
