"""Results as people and programs read them: text, JSON, and progress while the work goes on."""
