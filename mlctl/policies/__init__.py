"""A project's own rules: on files, on the changes of a plan, and on its costs."""
