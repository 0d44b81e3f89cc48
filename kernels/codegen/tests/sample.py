"""What the tests share: where the generator stands, and an entry that is right."""

import pathlib

CODEGEN = pathlib.Path(__file__).resolve().parents[1]

ENTRY = """operators:
  - schema: "twice(Tensor self, *, Scalar by=2) -> Tensor"
    variants: {inplace: twice_, out: twice.out}
    structured: unary_floating
    kind: pointwise
    dispatch: [CPU]
    doc: "Multiplies by a number."
    samples: [{args: [{tensor: [1]}]}]
"""
