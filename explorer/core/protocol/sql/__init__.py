"""SQL as text: conditions of users and expressions of tables.

In: a predicate of a user, or an expression that the table stores (constraint, generation, default).
Out: tokens; a small tree of comparisons that file statistics can answer; the columns that an expression may mention;
a refusal with its position.
Always: nothing is evaluated. A text that cannot be split into words as Spark splits it is refused, never read in part.
A column that may be mentioned counts as mentioned. A part that the tree does not understand may be true, false or null.

Protocol sections: CHECK Constraints, Generated Columns, Column Invariants (the expressions); none for predicates.
"""
