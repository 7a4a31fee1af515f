"""Clinical domains: one folder of data for each (network, wording, rubric, lexicon), and the code that reads them."""
