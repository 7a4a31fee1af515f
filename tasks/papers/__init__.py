"""The papers: what they print and conclude, as data, and how our tables compare with it."""
