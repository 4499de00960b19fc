"""Notices: what people should know now, where it is sent, and what they did about it.

In: notices of those who see something happen: tripwires, verdicts on clients, approvals.
Out: signed webhooks and mails; the open notices, with who acknowledged or snoozed them, and why.
Always: a notice is on the disk before it counts as posted, and stays until it is dealt with; what is known under one
key is one notice; each message has an ID, the same at every try. Where messages go is set by the configuration alone.
No text of this package holds a secret, or the path of a webhook, which often is one.
"""
