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

import beside  # noqa: E402
import cases  # noqa: E402
import meter  # noqa: E402
import rig as lab  # noqa: E402
import statements  # noqa: E402

OPERATIONS = ('create', 'update', 'delete')
POLL = 0.02                 # of the database, not of the API: that would make the engine work
COLUMNS = (('wall', 'wall s', '%.2f'), ('cpu', 'CPU s', '%.2f'), ('pss', 'PSS MiB', '%.0f'), ('peak', 'peak MiB', '%.0f'),
           ('statements', 'statements', '%.0f'), ('kib', 'SQL KiB', '%.0f'), ('messages', 'messages', '%.0f'))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('cases', nargs='*', help='of %s; without: %s' % (', '.join(cases.CASES), ', '.join(cases.USUAL)))
    parser.add_argument('--kinds', default='python,rust', help='of %s; the first is what the others are compared with; stock: '
                        'Python with its pause of 1 s a leaf, which `python` goes without' % ', '.join(lab.KINDS))
    parser.add_argument('--workers', type=int, default=1)
    parser.add_argument('--repeat', type=int, default=1, help='the table shows medians')
    parser.add_argument('--per-resource', action='store_true', help='also what one resource costs, against the first case')
    parser.add_argument('--beside', action='store_true',
                        help='show instead what a stack of five resources waits for that lives beside one of the case')
    parser.add_argument('--statements', action='store_true',
                        help='list the statements instead, from the general log of the whole server')
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

    def cycle(self, template, count, name='bench'):
        """Creates, updates and deletes; yields each operation with a function that does it and waits for its end."""
        names = ['%s-%d' % (name, number) for number in range(count)]
        ids = {}

        def create(name):
            ids[name] = self.request('POST', '/stacks', stack_name=name, template=template, parameters={'value': 'a'},
                                     timeout_mins=60).json()['stack']['id']

        def update(name):
            self.request('PUT', '/stacks/%s/%s' % (name, ids[name]), template=template, parameters={'value': 'b'}, timeout_mins=60)

        def delete(name):
            self.request('DELETE', '/stacks/%s/%s' % (name, ids[name]))

        def run(action, call):
            with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
                list(pool.map(call, names))
            lab.wait_until(1200, action, lambda: self.all_ended(action.upper(), ids.values()), POLL)
        for action, call in zip(OPERATIONS, (create, update, delete)):
            yield action, lambda: run(action, call)

    def measured(self, template, count):
        """Operation -> what it cost."""
        costs = {}
        for action, run in self.cycle(template, count):
            measured = meter.Meter(self.rig)
            run()
            measured.ended()
            costs[action] = measured.read()
        return costs

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
    yield '| case | operation | engine | %s | foreign cores |' % ' | '.join(title for _, title, _ in COLUMNS)
    yield '|---|---|---|%s' % ('--:|' * (len(COLUMNS) + 1))
    for case, operation in dict.fromkeys(key[:2] for key in results):
        for kind in kinds:
            runs = results.get((case, operation, kind))
            if not runs:
                yield '| %s | %s | %s | failed |%s' % (case, operation, kind, ' |' * len(COLUMNS))
                continue
            against = results.get((case, operation, first)) if kind != first else None
            cells = [cell(name, form, runs, against) for name, _, form in COLUMNS]
            yield '| %s | %s | %s | %s | %.1f |' % (case, operation, kind, ' | '.join(cells), median('foreign', runs))


def median(name, runs):
    return statistics.median(run[name] for run in runs)


def cell(name, form, runs, against):
    value = median(name, runs)
    if not against:
        return form % value
    ratio = median(name, against) / value if value else float('inf')
    return '%s (%s)' % (form % value, '%.1f×' % ratio if ratio < 1000 else '–')


def table_by_resource(results):
    """What a resource costs, and how many times that is what it costs in the first case of that kind and operation."""
    yield '| case | operation | engine | wall ms | CPU ms | statements | SQL KiB | messages |'
    yield '|---|---|---|--:|--:|--:|--:|--:|'
    first = {}
    for (case, operation, kind), runs in results.items():
        template, count = cases.CASES[case]
        resources = len(template['resources']) * count
        costs = [median(name, runs) * factor / resources for name, factor in (
            ('wall', 1000), ('cpu', 1000), ('statements', 1), ('kib', 1), ('messages', 1))]
        base = first.setdefault((operation, kind), costs)
        cells = ['%.2f' % cost if base is costs else '%.2f (%.2f×)' % (cost, cost / of) for cost, of in zip(costs, base)]
        yield '| %s | %s | %s | %s |' % (case, operation, kind, ' | '.join(cells))


def measure(engines, names, repeat):
    results, failures = {}, []
    for case in names:
        template, count = cases.CASES[case]
        for _ in range(repeat):
            for engine in engines:
                started = time.monotonic()
                try:
                    measured = engine.measured(template, count)
                except (RuntimeError, TimeoutError, requests.RequestException) as failure:
                    failures.append('%s on %s: %s' % (case, engine.kind, failure))
                    measured = {}
                for operation, cost in measured.items():
                    results.setdefault((case, operation, engine.kind), []).append(cost)
                print('%s on %s: %.0f s' % (case, engine.kind, time.monotonic() - started), file=sys.stderr)
    return results, failures


def list_statements(engines, names):
    for engine in engines:
        with statements.recorded(engine.rig) as recorded:
            for case in names:
                template, count = cases.CASES[case]
                for operation, run in engine.cycle(template, count):
                    recorded()
                    run()
                    time.sleep(1)                               # what comes after the end
                    print('\n%s, %s on %s: %s' % (case, operation, engine.kind, '\n'.join(
                        statements.table(recorded(), len(template['resources']) * count))))


def main():
    options = arguments()
    kinds = options.kinds.split(',')
    unknown = set(options.cases) - set(cases.CASES) | set(kinds) - set(lab.KINDS)
    if unknown:
        sys.exit('unknown: ' + ', '.join(sorted(unknown)))
    names = options.cases or cases.USUAL
    lab.sweep()
    tenant = lab.Tenant('bench-%d' % os.getpid())
    directory = tempfile.mkdtemp(prefix='bench-', dir=lab.LAB_DIR / 'logs')
    engines = [Engine(kind, directory, tenant, options.workers) for kind in kinds]
    idle = ['%s %.0f MiB' % (engine.kind, meter.memory(engine.rig)['pss']) for engine in engines]
    for engine in engines:
        engine.measured(cases.flat(10), 1)                      # caches, connections, imports
    if options.statements:
        return list_statements(engines, names)
    if options.beside:
        return print('\n'.join(beside.table(engines, names)))
    results, failures = measure(engines, names, options.repeat)
    print('%d worker(s) of each kind; in brackets how many times less than %s; %d repetition(s); idle (PSS): %s; logs in %s\n'
          % (options.workers, kinds[0], options.repeat, ', '.join(idle), directory))
    print('\n'.join(table(results, kinds)))
    if options.per_resource:
        print('\n' + '\n'.join(table_by_resource(results)))
    for failure in failures:
        print('\nfailed: ' + failure)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
