"""The version, written once: pyproject.toml and the command read it from here."""

__version__ = "0.1.0"
