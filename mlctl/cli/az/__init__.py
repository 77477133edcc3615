"""The commands that az has too: verbs on kinds, jobs, and their flags."""
