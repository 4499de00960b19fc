"""View models of rows: pages of them, changes, differences, and the work of Spark behind them.

In: what a page asks about rows, and the jobs of `explorer.spark`.
Out: listings of rows with their places and marks, strips of where changes come from, and the state of the work.
Always: only a request starts Spark; the log gives an estimate of what it would read before. One piece of work runs at a
time for each window and purpose, and can be stopped.
"""
