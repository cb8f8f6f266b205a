"""Why this cluster: the same record for the API, the command line, the log and the page."""
