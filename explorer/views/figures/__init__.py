"""Figures as plain Plotly documents, in the colours of a theme.

In: Arrow columns, NumPy arrays and records of `explorer.views.table`; none of them reads a table.
Out: a `Figure`: a dictionary of ``data`` and ``layout`` that any Plotly front end draws.
Always: every text in a label went through `explorer.formatting.plotly_text`. Colours come from `theme`
alone and keep their contrast in light and dark. A long history is drawn in bins.
"""
