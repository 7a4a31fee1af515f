"""The language-model layer: client, response store, budget, fingerprint. Imports schemas only, no stage room."""
