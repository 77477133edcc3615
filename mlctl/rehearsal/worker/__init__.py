"""The worker program: imports a scoring script as the service does, and obeys orders.

The user's interpreter runs it (Python 3.8 or newer), with only the standard library.
"""
