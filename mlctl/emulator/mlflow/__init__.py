"""MLflow's tracking server, as far as its client asks for it: runs, experiments, artifacts."""
