"""MLflow's tracking server, as far as its client needs it: runs, experiments, artifacts."""
