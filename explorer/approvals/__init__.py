"""Two people for a change: one asks for a plan with a reason, another approves or declines it, then it is committed.

In: rules (which changes of which tables need a second person), people as a server or the operating system knows them,
and plans.
Out: requests on a shelf, the approval under which a plan is committed, or a typed error that says what is missing.

Theory of operation: a plan is made again before it is committed, so a request keeps what a second person judges: the
answers of the plan (`explorer.core.transaction.approval`). They are compared when it is approved, and by the committer
itself on the very version that it writes after. Another answer makes the request stale, a mere new version does not.

    asked ──► approved ──► committing ──► committed
      │          │  ▲          │
      │          │  └──────────┤ nothing was written
      ▼          ▼             ▼
      declined   withdrawn     stale

Always: `GuardedTable` is the one way to a commit of a table with rules, so no message gets round it. An approval
is of one plan, and is used once. Who asks never approves: people are compared by issuer and subject, by name, by
e-mail, and by the accounts that the configuration calls one person; who has no identity does neither. The rights of
both are asked for when they act, and again at the commit. Each state is on the disk with its digest in the activity
record before it counts, and a request that was changed by anything else counts for nothing.
"""
