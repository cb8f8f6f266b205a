"""The published cluster: one web, batch and training load on two small clusters, with the calls that run through it.

Where a pod goes decides three things at once here: what still finds room later (gangs need much of it in one cluster),
how often a call crosses between the clusters, and how large the pools are that serve it. So a rule that is good at one
of them alone can be told from one that is good at all.
"""
