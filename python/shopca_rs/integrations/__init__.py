"""Bridges to other libraries, each with its optional dependencies."""
