"""Commands for several people who share tables: the record of activity, approvals, and notices.

In: the configuration, and the files that a server shares with the command line.
Out: entries of the record, requests for approval and their outcomes, notices and how people dealt with them.
Always: the person is the user of the operating system who runs the command; no option or variable changes that.
"""
