"""Statistics of rewards: means, intervals, reducers, tests and power. It knows no files."""
