"""What `prime env …` does: project, scaffold, build, publish, install, pull."""
