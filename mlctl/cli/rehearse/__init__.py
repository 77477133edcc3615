"""`mlctl rehearse`: the user's own code on nodes that are lost."""
