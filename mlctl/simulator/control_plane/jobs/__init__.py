"""Jobs of a simulated workspace: asked for, run by the engine, shown."""
