"""Writes typed read-only views."""


def emit(model):
    return {}
