"""One reader per public format; `prewarm.traces.detect.read_trace` chooses among them by the columns of a file."""
