"""What runs in the page that shows the widget: its style sheet, its figures, and what it needs of its surroundings.

In: rules and scripts of this package, and figures as plotly has them.
Out: widgets whose state in a saved notebook is small.
Always: nothing is fetched from another machine; style, scripts and plotly are in no model, as a page asks the kernel
for them.
"""
