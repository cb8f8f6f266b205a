"""Simulation of policies on traces: the minute protocol, the request-level mode, replay and its reports.

Offline code: it imports the very decision functions that the service runs, and the service never imports it, so the
compiled inner loops stay out of the service process.
"""
