"""Tables themselves: created, described, changed, tagged, deleted; and how a refusal is answered."""
