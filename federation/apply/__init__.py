"""The only writer to any API server, for one cluster and for many.

What is wanted is compared with what is there as values (`objects`, `owned`, `diff`, `plan`); the plan is carried out by
server-side apply under one field manager, so that what is ours stays ours and what others own is never taken silently.
Work over several members is written down before it is begun (`journal`), so that a crash between two of them can be
undone or finished.
"""
