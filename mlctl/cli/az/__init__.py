"""The commands that az has too: verbs on kinds and jobs, and their flags."""
