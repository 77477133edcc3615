"""`mlctl local`: the commands of the simulated cloud, and the flags that only it has."""
