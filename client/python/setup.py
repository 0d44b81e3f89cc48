"""Generates opyard/v1/*_pb2.py before the package is built; everything else stands in pyproject.toml."""

import importlib.util
import pathlib
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parent.parent / "proto"
OUTPUT = HERE / "opyard" / "v1"


def protoc_command():
    """Debian's protoc, else the one of the package grpcio-tools."""
    if shutil.which("protoc"):
        return ["protoc"]
    if importlib.util.find_spec("grpc_tools"):
        return [sys.executable, "-m", "grpc_tools.protoc"]
    raise SystemExit("error: no protoc here: install the Debian package protobuf-compiler, or grpcio-tools with pip")


def generate():
    """Messages only: the calls are few and stand by hand in opyard/grpc_transport.py."""
    sources = sorted((PROTO / "opyard" / "v1").glob("*.proto"))
    if not sources:
        if list(OUTPUT.glob("*_pb2.py")):
            return  # a source distribution: what was generated came with it
        raise SystemExit(f"error: neither {PROTO}/opyard/v1/*.proto nor generated code: build from the repository")
    subprocess.run(
        [*protoc_command(), f"-I{PROTO}", f"--python_out={HERE}", f"--pyi_out={HERE}", *map(str, sources)], check=True)


class BuildPy(build_py):
    def run(self):
        generate()
        super().run()


setup(cmdclass={"build_py": BuildPy})
