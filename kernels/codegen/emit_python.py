"""Typed stubs of the operators for the Python client."""


def stubs(entries):
    return ""
