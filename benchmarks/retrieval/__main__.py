"""`python -m benchmarks.retrieval`: both tables; with `quality` or `speed` only that one."""

import argparse
import sys

from benchmarks.retrieval import quality, speed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    parser.add_argument("part", nargs="?", choices=["quality", "speed"], help="default: both")
    parser.add_argument("--conversation", help="only this one of the evaluation data, by its id")
    parser.add_argument("--largest", type=int, default=100_000, help="chunks of the largest owner (default 100,000)")
    options = parser.parse_args()
    if options.part != "speed":
        print(quality.report(options.conversation), flush=True)
    if options.part != "quality":
        print(speed.report(options.largest), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
