"""The clairvoyant, the contest of all policies, and the search for the settings of the rule."""
