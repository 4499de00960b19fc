"""The preconditions of a commit, each by name and with evidence.

In: the state before and the state proposed; for guards of rows a `RowEngine`, for guards of files the store.
Out: `GuardResult`: pass, warn, fail or unknown, its evidence, and for a failure the next step.
Always: a guard that cannot be judged is unknown and blocks the commit until it is accepted by name. An old problem
warns; a problem that this commit would cause fails.

Protocol sections: Requirements for Writers, Protocol Evolution, Table Features, CHECK Constraints, Column Invariants.
"""
