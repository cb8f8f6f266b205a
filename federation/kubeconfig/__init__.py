"""From kubeconfig files to members of the fleet and their credentials."""
