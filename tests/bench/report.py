"""Turns the results of a group's program into rows: ours beside the peer, best of all repetitions.

Called by tests/bench/run with one Google Benchmark JSON file per group, NAME=FILE.
"""

import argparse
import json
import os
import pathlib
import re
import sys

import yaml

HERE = pathlib.Path(__file__).parent
PER_UNIT = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def values_of(results, choose=min):
    """CPU seconds (or counter "value") of each benchmark, the least of its repetitions or what is chosen."""
    best = {}
    for run in results["benchmarks"]:
        if run.get("run_type") != "iteration":
            continue
        if run.get("error_occurred"):
            raise SystemExit(f"error: {run['name']}: {run.get('error_message', 'failed')}")
        name = re.sub(r"/(repeats|iterations):\d+", "", run["run_name"])
        value = run["value"] if "value" in run else run["cpu_time"] * PER_UNIT[run["time_unit"]]
        best[name] = choose(best.get(name, value), value)
    return best


def row_of(spec, best, worst):
    if spec.get("most"):
        best = worst
    ours, peer_key = best.get(spec["ours"]), spec.get("peer")
    if ours is None:
        raise SystemExit(f"error: the program did not measure {spec['ours']}")
    scale = PER_UNIT.get(spec["unit"], 1.0)
    peer = best.get(peer_key) if peer_key else None
    return {
        "what": spec["what"],
        "ours": round(ours / scale, 3),
        "unit": spec["unit"],
        "peer": None if peer is None else round(peer / scale, 3),
        "peer_name": peer_key.split("/")[1] if peer is not None else None,
        "ratio": None if peer is None else round(ours / peer, 3),
        "goal": spec.get("goal"),
        "limit": spec.get("limit"),
    }


def verdict(row):
    if row["limit"] is not None:
        return f"at most {row['limit']}: " + ("reached" if row["ours"] <= row["limit"] else "MISSED")
    if row["goal"] is None or row["ratio"] is None:
        return ""
    return "reached" if row["ratio"] <= row["goal"] else "MISSED"


def print_table(group, rows):
    print(f"\n{group}")
    print(f"  {'what':52} {'ours':>10} {'peer':>10} {'':5} {'ratio':>6} {'goal':>6}")
    for row in rows:
        peer = "-" if row["peer"] is None else f"{row['peer']:.2f}"
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.3f}"
        goal = "-" if row["goal"] is None else f"{row['goal']:g}"
        print(f"  {row['what']:52} {row['ours']:10.2f} {peer:>10} {row['unit']:5} {ratio:>6} {goal:>6} {verdict(row)}")
    names = sorted({row["peer_name"] for row in rows if row["peer_name"]})
    print(f"  peer: {', '.join(names)}" if names else "  no peer is installed: see tests/bench/packages.txt")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("results", nargs="+", metavar="GROUP=FILE")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    specs = yaml.safe_load((HERE / "rows.yaml").read_text())
    groups = {}
    for pair in args.results:
        group, path = pair.split("=", 1)
        results = json.loads(pathlib.Path(path).read_text())
        best, worst = values_of(results), values_of(results, max)
        groups[group] = [row_of(spec, best, worst) for spec in specs[group]["rows"]]
    load = os.getloadavg()
    if args.json:
        rows = [row for group in groups.values() for row in group]
        json.dump({"load": round(load[0], 2), "rows": rows}, sys.stdout, indent=1)
        print()
        return
    for group, rows in groups.items():
        print_table(group, rows)
    print(f"\nload average {load[0]:.2f} {load[1]:.2f} {load[2]:.2f} on {os.cpu_count()} cores; best of all repetitions")


if __name__ == "__main__":
    main()
