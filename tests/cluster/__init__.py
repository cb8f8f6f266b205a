"""Real Kubernetes clusters as plain processes, and what prewarm does against them.

Nothing here is a fake: API servers, etcd, controllers, scheduler and kubectl are Kubernetes' own; only nodes and pods
have no container behind them (kwok). `make assets` builds the programs, `PREWARM_ASSETS` names the folder they are in.
"""
