"""The Act tab's work for one window: a change is asked for, planned, checked against the rows, approved, committed.

In: the answers in the page's address, the messages of a person, and what planning, Spark and the commit give back.
Out: the values of the tab's template at each step, from a frozen `ActSheet`.
Always: the desk is in exactly one state of `state`, and only an event of `events` leads to the next. Work runs on
threads, and work that ends late changes nothing. Drawing begins no work. A person approves the plan that was shown, by
its digest. Whether a commit is allowed is the table's answer, never the desk's.
"""
