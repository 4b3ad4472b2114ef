"""The parts of a scenario file, as a person writes them; `keyheat.scenario.scenario` puts them together."""
