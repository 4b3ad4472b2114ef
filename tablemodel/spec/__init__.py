"""The parts of a scenario file, as a person writes them; `tablemodel.scenario` puts them together."""
