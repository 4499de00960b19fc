"""The Act tab as records: an intent's form, its plan with guards and lost clients, and the receipt of its commit.

Comes in: a snapshot, answers as texts, a `CommitPlan`, a `CommitResult`. Goes out: frozen records of plain text.
What a form asks, how its answers become an intent, and how the intent reads is one entry in `intents`.
"""
