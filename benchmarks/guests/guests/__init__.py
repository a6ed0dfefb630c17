"""Other people's test suites, run plain and under the recorder."""
