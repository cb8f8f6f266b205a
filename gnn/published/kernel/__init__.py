"""The compiled event loop: pods that come, wait, run and go, and the calls that their replicas serve."""
