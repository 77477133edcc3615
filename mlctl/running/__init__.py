"""Run jobs here: the user's own commands and scripts, in the order of their data.

`planner` reads a job to nodes with bound values, `executor` runs them, `commands` runs one in
processes of its own. `mlctl job run` starts it, and what is asked to run code; nothing else does.
"""
