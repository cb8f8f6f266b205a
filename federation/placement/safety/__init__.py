"""What stands between a wish and an act: people's word, limits, surge before drain. It may shrink, never enlarge."""
