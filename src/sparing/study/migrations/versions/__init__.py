"""One file for each format, in order."""
