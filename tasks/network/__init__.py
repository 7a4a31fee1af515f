"""The expert Bayesian network: definition, sampling, fitting, inference. The only importer of pgmpy.

Other rooms may import `definition`, `graph`, `sampling`, `fitting` and `inference`. Nothing is imported here, so that
reading a definition or sampling records loads only the modules needed, and a stage depends only on these.
"""
