"""One entry for each intent that a page offers: its form, how its answers make the intent, its headline and its hints.

A module holds a group of entries, as the page groups them; `registry` lists the groups. Nothing here judges an intent:
the plan does.
"""
