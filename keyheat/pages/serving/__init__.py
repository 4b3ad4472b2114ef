"""The runs as pages of a server on this machine, while runs are going on."""
