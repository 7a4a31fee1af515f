"""The expert Bayesian network: definition, sampling, fitting, inference. The only importer of pgmpy.

Other rooms may use `definition`, `graph`, `sampling`, `fitting` and `inference`. Nothing is imported here, so that
reading a definition or drawing records loads none of the rest, and a stage depends on the modules that it runs.
"""
