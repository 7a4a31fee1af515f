"""What a person runs: one module a command of ``vignette``."""
