"""What every command stands on: flags, session, output, exit codes."""
