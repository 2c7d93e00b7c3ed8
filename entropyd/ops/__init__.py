"""How the daemon is watched: metrics, HTTP, sd_notify, logging."""
