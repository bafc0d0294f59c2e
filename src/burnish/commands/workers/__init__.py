"""The processes that commands start to try something out, and how they talk."""
