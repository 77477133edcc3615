"""`mlctl advise`: which configuration does a job best."""
