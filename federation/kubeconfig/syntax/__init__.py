"""What a kubeconfig file may say: its tables, its fields, and what an entry means."""
