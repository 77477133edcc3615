"""The control plane of the simulated cloud: ARM and the workspace API on virtual time.

`service` carries out reads and writes of resources; `resources` has the rules of each resource
type; `jobs` submits and shows jobs. `replay` runs the event engine. `state` is the database. Time
passes only when a client waits for an operation or job, or advances the clock.
"""
