"""PPO and DQN over a set of clusters, as others train them: for rows of the benchmark only."""
