"""The simulated cloud: a workspace's control plane, pure and on virtual time.

`service` carries out the verbs on a `store`; a file per resource type says what the service
accepts and how it respells it. Time moves only when somebody waits or advances the clock.
"""
