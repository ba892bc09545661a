"""How often the gate is wrong by chance: each random check at a level that can be counted, and whole runs."""
