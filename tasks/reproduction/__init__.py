"""Published tables: loads the printed values and compares reproduced values with them."""
