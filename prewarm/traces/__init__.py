"""Real and synthetic traces: readers of the public formats, a seeded generator, and the download of the originals.

Everything that replays, trains or measures starts from one value, `model.Trace`, whatever file it came from, so that
no policy ever sees a format. A reader never fails for a broken row: it says file, line and reason in the load report.
"""
