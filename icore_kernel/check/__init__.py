"""What `icore check` asks of a system, and how the answers become results and findings."""
