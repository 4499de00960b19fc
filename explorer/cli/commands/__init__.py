"""The commands, a module for each question: its arguments, the call of the API, what it prints.

In: the arguments as Typer parsed them.
Out: rows and documents through `explorer.cli.output`, and an exit code.
Always: `explorer.cli.app` lists the commands; a command's docstring is its
help, and states the JSON that it writes.
"""
