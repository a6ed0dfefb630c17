"""Reading the evidence of two runs, to recognise what made them differ."""
