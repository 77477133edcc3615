"""The event engine of the simulated cloud: nodes, jobs, preemption and billing, event by event.

The engine is pure. `state.World` holds the whole state as plain data; virtual time and the random
seed are arguments; nothing is read from a clock, a file or a database.

    world = state.World("seed")                              a new cloud at second 0
    engine.apply(world, commands.AddCluster(spec))           a command, or `EngineError`
    for event in engine.advance(world, to): ...              time passes; `event.line()` is the log
    for event in engine.wait(world, "job", limit): ...       until the job has ended
    views.job(world, "job"), views.counts(world, "cluster")  read-only views
    usage.usage(world), metrics.node_counts(events, "cluster")  costs, Azure Monitor's metrics
    snapshot.dump(world), snapshot.load(data)                the state as JSON data, and back

`cluster_commands.carry_out`, `engine.run` and `engine.finish` do the same without a log, which is
much faster. Commands are in `commands`, what they specify in `model` and `processes`; `traces`
reads files. `simulator.parameters.assumptions` lists every setting with its source. Rules such as
R7, T5 and B1 are in `docs/simulated-cloud.md`, with their sources.
"""
