"""The data plane of the simulated cloud: nodes, jobs, preemption and bills, event by event.

Pure: a `state.World` holds everything, time and chance are arguments, and the state is plain data.

    world = state.World("seed")                              a new cloud at second 0
    engine.apply(world, commands.AddCluster(spec))           what people ask, or `EngineError`
    for event in engine.advance(world, to): ...              time passes; `event.line()` is the log
    for event in engine.wait(world, "job", limit): ...       until the job has ended
    views.job(world, "job"), views.counts(world, "cluster")  what can be seen of it
    usage.usage(world), metrics.points(events, "cluster")    what it cost, what the portal shows
    snapshot.dump(world), snapshot.load(data)                  between two commands of a person

`cluster_commands.carry_out`, `engine.run` and `engine.finish` do the same without telling, much
faster. Every command is in `commands`, what it specifies in `model` and `processes`, and every
setting with its source in `model.parameters`. What comes from files is read by `traces`. Rules (R7,
T5, B1) are told with their sources in `docs/simulated-cloud.md`.
"""
