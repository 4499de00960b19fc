"""The Edit tab of one window: the address asks for a change, and the tab shows how far it is.

In: the answers in the page's address, the messages of a person, and the states of the desk (`explorer.views.act.desk`).
Out: the values of the tab's template at each step.
Always: drawing begins no work. A person approves the plan that was shown, by its digest. Whether a commit is allowed is
the table's answer.
"""
