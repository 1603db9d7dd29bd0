"""Measures the same stacks on engines of different kinds, one after the other, and prints a table. `run` starts it."""
import argparse
import concurrent.futures
import os
import pathlib
import statistics
import sys
import tempfile
import time

import requests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'lab'))

import cases  # noqa: E402
import meter  # noqa: E402
import rig as lab  # noqa: E402

OPERATIONS = ('create', 'update', 'delete')
POLL = 0.02                 # of the database, not of the API: that would make the engine work


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('cases', nargs='*', help='of %s; all without' % ', '.join(cases.CASES))
    parser.add_argument('--kinds', default='python,rust', help='of %s; the first is what the others are compared with; stock: '
                        'Python with its pause of 1 s a leaf, which `python` goes without' % ', '.join(lab.KINDS))
    parser.add_argument('--workers', type=int, default=1)
    parser.add_argument('--repeat', type=int, default=1, help='the table shows medians')
    return parser.parse_args()


class Engine:
    def __init__(self, kind, directory, tenant, workers):
        self.kind = kind
        self.tenant = tenant
        self.rig = lab.Rig(kind, kind, directory, workers=workers).start()
        self.http = requests.Session()
        self.http.mount('http://', requests.adapters.HTTPAdapter(pool_maxsize=32))

    def request(self, method, path, **body):
        answer = self.http.request(method, '%s/v1/%s%s' % (self.rig.api_url, self.tenant.project_id, path), json=body or None,
                                   headers={'X-Auth-Token': self.tenant.token()}, timeout=600)
        answer.raise_for_status()
        return answer

    def cycle(self, template, count):
        """Creates, updates and deletes; operation -> what it cost."""
        names = ['bench-%d' % number for number in range(count)]
        ids = {}

        def create(name):
            ids[name] = self.request('POST', '/stacks', stack_name=name, template=template, parameters={'value': 'a'},
                                     timeout_mins=60).json()['stack']['id']

        def update(name):
            self.request('PUT', '/stacks/%s/%s' % (name, ids[name]), template=template, parameters={'value': 'b'}, timeout_mins=60)

        def delete(name):
            self.request('DELETE', '/stacks/%s/%s' % (name, ids[name]))
        return {action: self.measure(action, call, names, ids) for action, call in zip(OPERATIONS, (create, update, delete))}

    def measure(self, action, call, names, ids):
        measured = meter.Meter(self.rig)
        with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
            list(pool.map(call, names))
        lab.wait_until(1200, action, lambda: self.all_ended(action.upper(), ids.values()), POLL)
        measured.ended()
        return measured.read()

    def all_ended(self, action, ids):
        rows = self.rig.rows('SELECT id, action, status, deleted_at FROM stack WHERE id IN %s', list(ids))
        failed = [row['id'] for row in rows if row['status'] == 'FAILED']
        if failed:
            raise RuntimeError('%s failed: %s' % (action, failed))
        if action == 'DELETE':
            return all(row['deleted_at'] for row in rows)
        return all((row['action'], row['status']) == (action, 'COMPLETE') for row in rows)


def table(results, kinds):
    """results: (case, operation, kind) -> the measurements."""
    first = kinds[0]
    yield '| case | operation | engine | wall s | CPU s | PSS MiB | peak MiB | statements | messages | foreign cores |'
    yield '|---|---|---|--:|--:|--:|--:|--:|--:|--:|'
    for case, operation in dict.fromkeys(key[:2] for key in results):
        for kind in kinds:
            runs = results.get((case, operation, kind))
            if not runs:
                yield '| %s | %s | %s | failed ||||||| ' % (case, operation, kind)
                continue
            against = results.get((case, operation, first)) if kind != first else None
            cells = [cell(name, form, runs, against) for name, form in (
                ('wall', '%.2f'), ('cpu', '%.2f'), ('pss', '%.0f'), ('peak', '%.0f'), ('statements', '%.0f'), ('messages', '%.0f'))]
            yield '| %s | %s | %s | %s | %.1f |' % (case, operation, kind, ' | '.join(cells), median('foreign', runs))


def median(name, runs):
    return statistics.median(run[name] for run in runs)


def cell(name, form, runs, against):
    value = median(name, runs)
    if not against:
        return form % value
    ratio = median(name, against) / value if value else float('inf')
    return '%s (%s)' % (form % value, '%.1f×' % ratio if ratio < 1000 else '–')


def main():
    options = arguments()
    kinds = options.kinds.split(',')
    unknown = set(options.cases) - set(cases.CASES) | set(kinds) - set(lab.KINDS)
    if unknown:
        sys.exit('unknown: ' + ', '.join(sorted(unknown)))
    lab.sweep()
    tenant = lab.Tenant('bench-%d' % os.getpid())
    directory = tempfile.mkdtemp(prefix='bench-', dir=lab.LAB_DIR / 'logs')
    engines = [Engine(kind, directory, tenant, options.workers) for kind in kinds]
    for engine in engines:
        engine.cycle(cases.flat(10), 1)                          # caches, connections, imports
    results, failures = {}, []
    for case in options.cases or cases.CASES:
        template, count = cases.CASES[case]
        for _ in range(options.repeat):
            for engine in engines:
                started = time.monotonic()
                try:
                    measured = engine.cycle(template, count)
                except (RuntimeError, TimeoutError, requests.RequestException) as failure:
                    failures.append('%s on %s: %s' % (case, engine.kind, failure))
                    measured = {}
                for operation, cost in measured.items():
                    results.setdefault((case, operation, engine.kind), []).append(cost)
                print('%s on %s: %.0f s' % (case, engine.kind, time.monotonic() - started), file=sys.stderr)
    print('%d worker(s) of each kind; in brackets how many times less than %s; %d repetition(s); logs in %s\n'
          % (options.workers, kinds[0], options.repeat, directory))
    print('\n'.join(table(results, kinds)))
    for failure in failures:
        print('\nfailed: ' + failure)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
