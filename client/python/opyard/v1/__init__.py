"""Messages of proto/opyard/v1, generated at installation or by CMake; see client/python/README.md."""
