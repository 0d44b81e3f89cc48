"""The first calls: needs a running opyardd (its address in OPYARD_ADDRESS, unless it is the user's default)."""

import numpy as np
import opyard

with opyard.connect() as yard:
    x = yard.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    w = yard.tensor([[1.0, -1.0], [2.0, -2.0], [3.0, -3.0]])
    y = (x @ w + 0.5).relu()  # three calls, on their way before anybody waits
    print(y, y[1, 0].item(), yard.ops.aten.add(y, y, alpha=2).numpy(), sep="\n")
