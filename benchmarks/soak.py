"""`make soak`, or `python benchmarks/soak.py [--minutes 10] [--leg server] [--rate 6] [--collect 0] [--check]`.

A real server under a fixed rate of everything people and agents do, for some minutes; then how the last minute
compares with the first, and what memory, file descriptors, threads and every file of the data folder did meanwhile.
Ends by itself. Seconds decide nothing, since machines differ; `--check` exits 1 where a bound below is passed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from benchmarks import processes  # noqa: E402
from benchmarks.load import Done, Load, prepare  # noqa: E402
from benchmarks.run import ENVIRONMENT, PRODUCTION, SERVERS  # noqa: E402
from tests import services  # noqa: E402

#: What `--check` holds a run to: the last minute against the first, the WAL of `default`, and memory against what
#: it was after a third of the time.
MOST_RATIO = 1.2
MOST_WAL = 16 * 1024 * 1024
MOST_GROWTH = 1.25

CLIENTS = 4
SAMPLES = 20
NAME_OF_WAL = "assent.sqlite3-wal"


@dataclass(frozen=True)
class Sample:
    """What the server had used up to a moment: `processor` in seconds, `stolen` those the host gave to others."""

    at: float
    rss: int
    descriptors: int
    threads: int
    processor: float
    stolen: float
    files: dict[str, int]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--leg", choices=["embedded", "server"], default="embedded")
    parser.add_argument("--rate", type=float, default=6.0, help="operations a second (default 6)")
    parser.add_argument(
        "--collect", type=float, default=0, help="collect garbage every so many seconds (default: never)"
    )
    parser.add_argument("--check", action="store_true", help="exit 1 when a bound is passed")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return _inside(options.minutes * 60, options.rate, options.collect, check=options.check)
    with ExitStack() as stack:
        data = stack.enter_context(tempfile.TemporaryDirectory(prefix="assent-soak-"))
        servers = stack.enter_context(services.running(syncs=True)) if options.leg == "server" else {}
        inherited = {name: value for name, value in os.environ.items() if name not in SERVERS}
        environment = (
            inherited | ENVIRONMENT | PRODUCTION | servers | {"ASSENT_DATA_DIR": data, "ASSENT_PENDING_CAP": "1000"}
        )
        return subprocess.run(
            [sys.executable, __file__, "--inside", *sys.argv[1:]], cwd=ROOT, env=environment, check=False
        ).returncode


def _inside(seconds: float, rate: float, collect: float, *, check: bool) -> int:
    """Run on the databases the environment names."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.settings")
    import django
    from django.conf import settings

    folder = Path(settings.DATA_DIR)
    django.setup()
    token, targets = prepare()
    with ExitStack() as stack:
        if settings.REDIS_URL:
            stack.enter_context(processes.celery_worker(folder, {}))
        port = stack.enter_context(processes.web_server("memory_app.wsgi", folder, {}))
        load = Load(port, token, targets)
        with _collecting(collect) as collections:
            samples = _soak(load, seconds, rate, folder)
    if not all(each.ok for each in load.done):
        print((folder / "web.log").read_text()[-8000:], file=sys.stderr, flush=True)
    own = (folder / "web.log").read_text().count("garbage_collected")
    print(f"\n{own} collections of garbage by the site", end="")
    print(f", {len(collections)} asked for, of {_both(collections)} ms (p50/p95)" if collections else "")
    return _report(load.done, samples, seconds, check=check)


@contextmanager
def _collecting(every: float) -> Iterator[list[float]]:
    """Collect garbage every so many seconds beside what is done here; how long each took, in ms."""
    from django.db import connections

    from memory_app.dolt import maintenance

    took, over = list[float](), threading.Event()

    def collect() -> None:
        while not over.wait(every):
            began = time.perf_counter()
            maintenance.collect_garbage("memory", force=True)
            took.append((time.perf_counter() - began) * 1000)
        connections.close_all()

    collecting = threading.Thread(target=collect)
    if every:
        collecting.start()
    try:
        yield took
    finally:
        over.set()
        if every:
            collecting.join()


def _soak(load: Load, seconds: float, rate: float, folder: Path) -> list[Sample]:
    samples: list[Sample] = []
    with ThreadPoolExecutor(CLIENTS) as clients:
        everybody = threading.Barrier(CLIENTS)

        def sign_in(_: int) -> None:
            load.signed_in()
            everybody.wait()

        list(clients.map(sign_in, range(CLIENTS)))
        load.fill_inbox()
        load.warm_up()
        load.began = time.monotonic()
        next_sample = 0.0
        for number, kind in enumerate(load.order(int(seconds * rate))):
            wait = load.began + number / rate - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            clients.submit(load.run, kind)
            now = time.monotonic() - load.began
            if now >= next_sample:
                samples.append(_sample(now, folder))
                next_sample += seconds / SAMPLES
    samples.append(_sample(time.monotonic() - load.began, folder))
    return samples


def _sample(at: float, folder: Path) -> Sample:
    rss = descriptors = threads = ticks = 0
    for pid in _descendants(os.getpid()):
        try:
            status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            rss += int(status.get("VmRSS", "0 kB").split()[0]) * 1024
            threads += int(status["Threads"])
            ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
            descriptors += len(os.listdir(f"/proc/{pid}/fd"))
        except (OSError, ValueError, KeyError):
            continue  # ended meanwhile
    files = {file.name: file.stat().st_size for file in folder.iterdir() if file.is_file()}
    per_second = os.sysconf("SC_CLK_TCK")
    return Sample(at, rss, descriptors, threads, ticks / per_second, _stolen() / per_second, files)


def _stolen() -> int:
    """Ticks that the host of this machine gave to others although there was work here; none outside Linux."""
    try:
        return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])
    except (OSError, IndexError):
        return 0


def _descendants(pid: int) -> list[int]:
    """The processes this one started, and theirs. Of Linux only: elsewhere there is no /proc, and none are seen."""
    parents: defaultdict[int, list[int]] = defaultdict(list)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(after_name[1])].append(int(stat.parent.name))
    found, new = list[int](), [pid]
    while new:
        new = [child for parent in new for child in parents[parent]]
        found += new
    return found


def _report(done: list[Done], samples: list[Sample], seconds: float, *, check: bool) -> int:
    minute = min(60.0, seconds / 3)
    kinds = sorted({each.kind for each in done})
    print(f"\n{'':14}{'first':>16}{'last':>16}   ratio of p50\n{'p50/p95 in ms':14}{minute:>14.0f} s{minute:>14.0f} s")
    sums = [0.0, 0.0]
    for kind in kinds:
        first = [each.ms for each in done if each.kind == kind and each.at < minute]
        last = [each.ms for each in done if each.kind == kind and each.at >= seconds - minute]
        if not first or not last:
            continue
        sums = [sums[0] + median(first), sums[1] + median(last)]
        print(f"{kind:14}{_both(first):>16}{_both(last):>16}   {median(last) / median(first):.2f}")
    ratio = sums[1] / sums[0] if sums[0] else 1.0
    failed = sum(not each.ok for each in done)
    print(f"{'all':14}{sums[0]:>16.1f}{sums[1]:>16.1f}   {ratio:.2f}   ({len(done)} operations, {failed} failed)\n")
    slowest = {kind: _p99(each.ms for each in done if each.kind == kind) for kind in kinds}
    rate = len(done) / seconds
    for name, begin, end in (("first", 0.0, minute), ("last", seconds - minute, seconds)):
        among = [sample for sample in samples if begin - 1 <= sample.at <= end + 1]
        if len(among) > 1 and among[-1].at > among[0].at:
            passed = among[-1].at - among[0].at
            used = (among[-1].processor - among[0].processor) * 1000 / (rate * passed)
            stolen = 100 * (among[-1].stolen - among[0].stolen) / passed
            print(
                f"{name} {minute:.0f} s: {used:.1f} ms of processor an operation; {stolen:.0f} % of one taken by others"
            )
    print("\np99 in ms over the whole run:")
    print(", ".join(f"{kind} {ms:.0f}" for kind, ms in slowest.items()), end="\n\n")

    names = sorted({name for sample in samples for name in sample.files})
    print("  ".join([f"{'s':>5}", f"{'RSS MB':>7}", f"{'fds':>4}", f"{'threads':>7}", *names]))
    for sample in samples:
        sizes = (f"{sample.files.get(name, 0) / 2**20:>{len(name)}.2f}" for name in names)
        start = f"{sample.at:>5.0f}  {sample.rss / 2**20:>7.0f}  {sample.descriptors:>4}  {sample.threads:>7}"
        print("  ".join([start, *sizes]))
    print("(files in MB)")

    early = samples[len(samples) // 3].rss
    growth = samples[-1].rss / early if early else 1.0
    wal = max(sample.files.get(NAME_OF_WAL, 0) for sample in samples)
    bounds = {
        f"the last minute is at most {MOST_RATIO} × the first: {ratio:.2f}": ratio <= MOST_RATIO,
        f"memory is at most {MOST_GROWTH} × what it was after a third: {growth:.2f}": growth <= MOST_GROWTH,
        f"the WAL stays under {MOST_WAL // 2**20} MB: {wal / 2**20:.1f}": wal < MOST_WAL,
        f"no operation failed: {failed}": not failed,
    }
    print()
    for bound, is_kept in bounds.items():
        print(f"{'kept  ' if is_kept else 'BROKEN'}  {bound}")
    return 1 if check and not all(bounds.values()) else 0


def _p99(times: Iterable[float]) -> float:
    found = list(times)
    return quantiles([*found, *found], n=100, method="inclusive")[98]


def _both(times: Iterable[float]) -> str:
    cuts = quantiles([*times, *times], n=20, method="inclusive")
    return f"{cuts[9]:.1f}/{cuts[18]:.1f}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
