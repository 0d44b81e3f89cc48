#!/usr/bin/env python3
"""Trains a two-layer network on handwritten digits with operator calls on tensors that live in opyardd.

The gradients are written out by hand. Ends with status 0 when the held-out fifth is recognised well enough, else 1.
"""

from __future__ import annotations

import argparse
import gzip
import pathlib
import sys
import time
from typing import Any

import numpy as np
import opyard
from opyard import Tensor, Yard

DATA = pathlib.Path(__file__).resolve().parent / "digits.csv.gz"
PIXELS, CLASSES = 64, 10


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="unix:PATH or HOST:PORT; default: OPYARD_ADDRESS, then the user's socket")
    parser.add_argument("--seed", type=int, default=7, help="of split, start and order (default %(default)s)")
    parser.add_argument("--epochs", type=int, default=40, help="default %(default)s")
    parser.add_argument("--hidden", type=int, default=128, help="width of the hidden layer (default %(default)s)")
    parser.add_argument("--batch", type=int, default=16, help="images per step (default %(default)s)")
    parser.add_argument("--rate", type=float, default=0.3, help="learning rate (default %(default)s)")
    parser.add_argument("--wanted", type=float, default=0.96, help="accuracy that is enough (default %(default)s)")
    chosen = parser.parse_args()
    for name in ("epochs", "hidden", "batch"):
        if getattr(chosen, name) < 1:
            parser.error(f"--{name} is at least 1")
    return chosen


def load(seed: int) -> tuple[Any, Any, Any, Any]:
    """Images from 0 to 1 and their digits: four fifths to learn from, then the fifth that is held out."""
    with gzip.open(DATA, "rt") as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.float32)
    rows = rows[np.random.default_rng(seed).permutation(len(rows))]
    images, digits = rows[:, :PIXELS] / 16, rows[:, PIXELS].astype(np.int64)
    held_out = len(rows) // 5
    return images[held_out:], digits[held_out:], images[:held_out], digits[:held_out]


class Network:
    """64 pixels, a hidden layer with relu, 10 scores; cross-entropy; plain gradient descent."""

    def __init__(self, yard: Yard, hidden: int, rate: float) -> None:
        self.yard, self.rate = yard, rate
        self.w1 = yard.randn(PIXELS, hidden) * (2 / PIXELS) ** 0.5
        self.b1 = yard.zeros(hidden)
        self.w2 = yard.randn(hidden, CLASSES) * (2 / hidden) ** 0.5
        self.b2 = yard.zeros(CLASSES)

    def scores(self, x: Tensor) -> Tensor:
        aten = self.yard.ops.aten
        hidden = aten.addmm(self.b1, x, self.w1).relu()
        result: Tensor = aten.addmm(self.b2, hidden, self.w2)
        return result

    def step(self, x: Tensor, truth: Tensor, count: int) -> Tensor:
        """One step on `count` images; `truth` has a one at each image's digit. Returns the mean loss, not fetched."""
        aten = self.yard.ops.aten
        before = aten.addmm(self.b1, x, self.w1)
        hidden = before.relu()
        likely: Tensor = aten.addmm(self.b2, hidden, self.w2).softmax(1)
        loss = -((likely + 1e-9).log() * truth).sum() / count

        d_scores = (likely - truth) / count
        d_hidden = (d_scores @ self.w2.t()) * (before > 0)
        self.w2.sub_(hidden.t() @ d_scores, alpha=self.rate)
        self.b2.sub_(d_scores.sum([0]), alpha=self.rate)
        self.w1.sub_(x.t() @ d_hidden, alpha=self.rate)
        self.b1.sub_(d_hidden.sum([0]), alpha=self.rate)
        return loss

    def accuracy(self, x: Tensor, digits: Tensor) -> float:
        right = (self.scores(x).argmax(1) == digits).to("float32").mean()
        return float(right)


class Progress:
    """One line that is written over on a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        self.terminal = sys.stdout.isatty()

    def show(self, text: str) -> None:
        sys.stdout.write(f"\r\033[K{text}" if self.terminal else text + "\n")
        sys.stdout.flush()

    def done(self) -> None:
        if self.terminal:
            print()


def train(yard: Yard, chosen: argparse.Namespace) -> tuple[Network, float]:
    images, digits, held_images, held_digits = load(chosen.seed)
    print(f"{len(images)} images to learn from, {len(held_images)} held out; seed {chosen.seed}")
    x, truth = yard.tensor(images), yard.tensor(np.eye(CLASSES, dtype=np.float32)[digits])
    held_x, held_y = yard.tensor(held_images), yard.tensor(held_digits)
    network = Network(yard, chosen.hidden, chosen.rate)
    shuffle = np.random.default_rng(chosen.seed + 1)
    progress, accuracy = Progress(), 0.0
    for epoch in range(1, chosen.epochs + 1):
        order = yard.tensor(shuffle.permutation(len(images)))
        total, steps = yard.zeros(()), 0
        for start in range(0, len(images) - chosen.batch + 1, chosen.batch):
            batch = order[start:start + chosen.batch]
            total += network.step(x[batch], truth[batch], chosen.batch)
            steps += 1
        loss, accuracy = float(total) / max(steps, 1), network.accuracy(held_x, held_y)
        progress.show(f"epoch {epoch:3d}/{chosen.epochs}  loss {loss:.4f}  accuracy {accuracy:.4f}")
    progress.done()
    return network, accuracy


def main() -> int:
    chosen = arguments()
    with opyard.connect(chosen.address, label="digits") as yard:
        print(f"{yard.server} at {yard.address}, devices: {', '.join(yard.devices)}")
        yard.manual_seed(chosen.seed)
        started = time.perf_counter()
        network, accuracy = train(yard, chosen)
        yard.synchronize()
        seconds = time.perf_counter() - started
        calls = yard.stats.calls
        print(f"accuracy on the held-out fifth: {accuracy:.4f} (wanted: {chosen.wanted:.2f})")
        print(f"{calls} op calls routed in {seconds:.2f} s: {calls / seconds:.0f} calls per second,"
              f" {1e6 * seconds / calls:.1f} µs per call on average, {calls / yard.stats.frames:.0f} calls per frame")
        print("how one of them was routed:")
        print(yard.explain("aten::mm", yard.zeros(chosen.batch, PIXELS), network.w1))
    if accuracy < chosen.wanted:
        print(f"error: the accuracy {accuracy:.4f} is below {chosen.wanted:.2f}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except opyard.Error as error:
        sys.exit(f"error: {error.code_name}: {error}")
