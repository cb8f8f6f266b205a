"""Raw objects of a cluster into the few values that are kept of them: pure functions, one file a kind."""
