"""Commands about what several people do with tables: the record of activity, approvals, and notices.

In: the configuration, and the files that a server shares with the command line.
Out: lines of the record, requests for approval and what becomes of them, notices and what people do about them.
Always: the person is the user of the operating system who runs the command.
"""
