"""Key patterns, one kind to a module; `keyheat.scenario.keys` is where the others find them."""
