"""Room in flight: what was promised and is not yet seen taken, so that a burst of decisions never promises it twice."""
