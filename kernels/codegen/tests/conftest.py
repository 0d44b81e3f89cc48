import pathlib
import sys

import pytest

CODEGEN = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CODEGEN))

ENTRY = """operators:
  - schema: "twice(Tensor self, *, Scalar by=2) -> Tensor"
    variants: {inplace: twice_, out: twice.out}
    structured: unary_floating
    kind: pointwise
    dispatch: [CPU]
    doc: "Multiplies by a number."
    samples: [{args: [{tensor: [1]}]}]
"""


@pytest.fixture
def ops(tmp_path):
    """Writes entries into a folder of their own and returns the folder."""

    def write(text=ENTRY, name="some.yaml"):
        (tmp_path / name).write_text(text)
        return tmp_path

    return write
