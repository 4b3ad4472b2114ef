"""The files of a run as values: one writer, one reader, frames."""
