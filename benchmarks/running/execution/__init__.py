"""Running tasks under hard limits, and verifying what they report, in processes of their own.

Linux only: child subreapers, pidfds and ``/proc`` have no portable counterpart.

`task` is the data model, `supervisor` runs one task, `engine` runs many. Underneath, a
`fork_server` is the handle of a warm process (`server_process`) that forks a child for every job
(`child_process`); what a child does is `method_job` or `verification_job`.
"""
