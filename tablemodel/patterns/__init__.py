"""Key patterns, one kind to a module; `tablemodel.keys` is where the others find them."""
