"""Methods of the native classes that are written in Python."""
