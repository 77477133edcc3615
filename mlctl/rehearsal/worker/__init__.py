"""The program of a worker: imports a scoring script as the service does, and obeys orders.

It is run by the user's interpreter (Python 3.8 or newer), with the standard library alone.
"""
