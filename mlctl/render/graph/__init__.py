"""Resources and pipelines as pictures: what refers to what, and what flows from step to step."""
