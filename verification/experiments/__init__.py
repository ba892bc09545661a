"""Named simulations that several claims look at, computed once per shard and shared."""
