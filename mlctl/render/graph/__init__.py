"""Resources and pipelines as pictures: references between resources, data flow between steps."""
