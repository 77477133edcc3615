"""The kinds, a module each: `KIND` is the record, imported when it is asked for."""
