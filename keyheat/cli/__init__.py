"""The verbs of the command line, by stage; each composes stages and computes nothing itself."""
