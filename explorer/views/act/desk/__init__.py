"""A change under way: asked for, planned, checked against the rows, approved, committed.

In: a question (a kind of change with its answers), a person's steps, and what planning, Spark and the commit give back.
Out: the state of the change, frozen, from which pages and widgets are drawn.
Always: the desk is in exactly one state of `state`, and only an event of `events` leads to the next. Work runs on
threads, and work that ends late changes nothing. A person approves the plan that was shown, by its digest. Whether a
commit is allowed is the table's answer, never the desk's.
"""
