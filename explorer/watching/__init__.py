"""Watch tables: what is new of them is posted as notices, round after round.

In: served roots, tripwires, the clients in use.
Out: notices, posted together with what was seen, so that nothing is told twice and nothing is lost.
Always: a table that cannot be read is a notice of its own, and stops no other and no round; a table that is new is
watched from its newest version on.
"""
