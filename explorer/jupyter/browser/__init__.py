"""What runs in the page that shows the widget: its style sheet, its figures, and what it needs of its surroundings.

In: rules and scripts of this package, and figures as plotly has them.
Out: widgets whose state in a saved notebook is small.
Always: nothing is fetched from another machine; the style sheet and the scripts are in one model, the page kit, which
every widget has as a child; plotly is in no model, as a page asks the kernel for it.
"""
