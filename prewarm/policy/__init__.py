"""From a distribution of demand to a number of instances: sizing first, then bounds, then what people said."""
