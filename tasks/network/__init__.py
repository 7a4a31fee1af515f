"""The expert Bayesian network: definition, sampling, fitting, inference. The only importer of pgmpy."""
