"""Act in the widget: a change is chosen, filled in, planned, checked against the rows, approved, committed.

In: the whole, with its table, and what a person answers.
Out: controls and text, drawn from the state of a desk of `explorer.views.act.desk`.
Always: nothing here judges; the plan does. A person approves the plan that is shown, by the table's name. A widget that
was not made for commits plans and never writes. Long work runs on threads, and the kernel stays free.
"""
