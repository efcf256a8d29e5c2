"""What `prime eval …` does: plan, run, journal, results, summary, and reading them again."""
