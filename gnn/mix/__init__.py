"""The serverless mix: warm instances of many functions over a fleet of clusters, minute by minute, at one cost J.

It joins what the two halves of prewarm decide, how many instances and where, so that a split over clusters can be
judged by what it costs: cold starts, idle memory at each cluster's price, delay to the callers, and room that lacks.
"""
