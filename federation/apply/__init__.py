"""The only writer to any API server: server-side apply with our field manager."""
