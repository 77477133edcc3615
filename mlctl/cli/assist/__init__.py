"""mlctl in editors and for agents: a language server, and a read-only server of tools."""
