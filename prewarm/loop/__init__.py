"""The tick and everything around it: what the service knows, sees, keeps and does once a minute."""
