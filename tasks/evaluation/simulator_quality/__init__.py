"""How close the simulator's notes are to the published ones."""
