"""SQL expressions as text: tokens, predicates, functions, and what may be evaluated."""
