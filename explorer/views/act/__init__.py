"""View models of the Act tab: intents as forms, plans with their guards, and receipts.

In: a version of a table, the answers of a form, a plan or the result of a commit.
Out: the form of an intent with its hints, the plan as a person reads it (guards, lines to write, who loses access,
consequences), and the receipt.
Always: a form never decides; the plan does. Every text is as the table, the log or the person gave it. Each intent that
pages offer has one entry, in `intents`.
"""
