"""The benchmark: our engine beside the installed peers, on the same systems, in one run (README.md)."""
