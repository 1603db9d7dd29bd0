"""What the owner of a small stack notices of a large one: how long its operations take beside those of the large one."""
import statistics
import threading
import time

import cases

SMALL = cases.flat(5)
ALONE = 5                   # lives of the small stack before the large one comes


def lives(engine, times, go_on):
    """Lets a small stack live again and again; notes the seconds of each operation by its name."""
    while go_on():
        for operation, run in engine.cycle(SMALL, 1, 'small'):
            started = time.monotonic()
            run()
            times.setdefault(operation, []).append(time.monotonic() - started)


def measure(engine, large, count):
    """Yields (operation of the large stack or None, its seconds, the small one's times)."""
    alone, left = {}, iter(range(ALONE))
    lives(engine, alone, lambda: next(left, None) is not None)
    yield None, 0, alone
    for operation, run in engine.cycle(large, count, 'large'):
        beside, ended = {}, threading.Event()
        small = threading.Thread(target=lives, args=(engine, beside, lambda: not ended.is_set()))
        small.start()
        started = time.monotonic()
        try:
            run()
        finally:
            seconds = time.monotonic() - started
            ended.set()
            small.join()
        yield operation, seconds, beside


def table(engines, names):
    yield '| case | engine | beside its | s | small create s, median (most) | update | delete |'
    yield '|---|---|---|--:|--:|--:|--:|'
    for case in names:
        for engine in engines:
            for operation, seconds, times in measure(engine, *cases.CASES[case]):
                cells = ['%.2f (%.2f)' % (statistics.median(of), max(of)) for of in times.values()]
                yield '| %s | %s | %s | %.1f | %s |' % (case, engine.kind, operation or 'alone', seconds, ' | '.join(cells))
