"""One client per member: deadline, backoff, circuit breaker, health; nothing shared."""
