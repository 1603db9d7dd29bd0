"""Runs the scenarios on an oracle and on another rig, and compares. `run` starts it."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'lab'))

import agreed  # noqa: E402
import compare  # noqa: E402
import normalise  # noqa: E402
import record  # noqa: E402
import rig as lab  # noqa: E402
import scenarios  # noqa: E402
import selfcheck  # noqa: E402


# Else a service that refuses is asked for more than a minute; and a limit that a scenario can reach.
OPTIONS = '[DEFAULT]\naction_retry_limit = 2\nmax_resources_per_stack = 250\n'


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('names', nargs='*', help='scenarios, or families of them; all without')
    parser.add_argument('--oracle', default='python', choices=sorted(lab.KINDS))
    parser.add_argument('--ours', default='rust', choices=sorted(lab.KINDS), help='python: shows that the comparison is fair')
    parser.add_argument('--mixed', action='store_true', help='also where a Python engine and ours share the work')
    parser.add_argument('--list', action='store_true', help='name the scenarios and end')
    parser.add_argument('--attempts', type=int, default=3, help='how often a scenario may be tried (Python threads race)')
    parser.add_argument('--differences', type=int, default=12, help='how many to show of each scenario')
    parser.add_argument('--keep', metavar='DIRECTORY', help='logs, and the records as JSON')
    return parser.parse_args()


class Side:
    """A rig with what is needed to run scenarios on it."""

    def __init__(self, label, kind, directory, tenant):
        self.label = label
        self.tenant = tenant
        self.rig = lab.Rig(label, kind, directory, OPTIONS)
        self.known = {
            tenant.project_id: '<project>', tenant.strange_project_id: '<strange project>', tenant.name: '<tenant>', self.rig.name: '<rig>',
            lab.LAB['LAB_KEYSTONE_URL']: '<keystone>',
        }
        self.known.update({user_id: '<user %s>' % name for name, user_id in tenant.user_ids.items()})

    def start(self):
        self.rig.start()
        self.bus = record.Bus(self.rig)
        self.known[self.rig.api_url] = '<api>'
        return self

    def run(self, scenario):
        self.rig.have_engines_with(scenario.options)
        raw, unique_names = record.run(scenario, self.rig, self.bus, self.tenant)
        return normalise.normalise(raw, self.known | unique_names)


class Comparison:
    def __init__(self, options, directory):
        self.options = options
        self.directory = directory
        self.tenant = lab.Tenant('conformance-%d' % os.getpid())
        self.printing = threading.Lock()
        self.records = {}                       # scenario -> the oracle's
        self.results = {}                       # (scenario, side) -> (number of differences, attempts)
        self.agreed = {}                        # (scenario, side) -> number of agreed differences
        self.agreements = agreed.Agreements()

    def sides(self, mixed):
        wanted = [('oracle', self.options.oracle), ('ours', self.options.ours)]
        if mixed:
            wanted.append(('mixed', 'mixed'))
        # One after the other: signals and threads aside, three starts at once take longer on a small machine.
        return [Side(label, kind, self.directory, self.tenant).start() for label, kind in wanted]

    def run(self, chosen):
        with_mixed = self.options.mixed and any(s.mixed for s in chosen)
        oracle, *others = self.sides(with_mixed)
        with concurrent.futures.ThreadPoolExecutor(1 + len(others)) as pool:
            for scenario in chosen:
                sides = [side for side in others if (scenario.mixed if side.label == 'mixed' else not scenario.only_mixed)]
                if sides:
                    self.run_one(pool, scenario, oracle, sides)

    def run_one(self, pool, scenario, oracle, others):
        started = time.monotonic()
        pending = list(others)
        found = {}
        for attempt in range(1, self.options.attempts + 1):
            records = {side.label: pool.submit(side.run, scenario) for side in [oracle] + pending}
            records = {label: future.result() for label, future in records.items()}
            self.records[scenario.__name__] = records['oracle']
            self.keep(scenario, records)
            for side in list(pending):
                without = ('frames',) if scenario.frames_by_chance or side.label == 'mixed' else ()
                found[side.label], self.agreed[scenario.__name__, side.label] = self.agreements.divide(
                    scenario.__name__, compare.compare(records['oracle'], records[side.label], without))
                found[side.label] += stops(records['oracle'])
                self.results[scenario.__name__, side.label] = (len(found[side.label]), attempt)
                self.keep_differences('%s.%s.%d.txt' % (scenario.__name__, side.label, attempt), found[side.label])
                if not found[side.label]:
                    pending.remove(side)
            if not pending:
                break
        with self.printing:
            for side in others:
                self.report(scenario, side, found[side.label], time.monotonic() - started)

    def report(self, scenario, side, found, seconds):
        count, attempt = self.results[scenario.__name__, side.label]
        remark = '' if attempt == 1 or count else '  (at attempt %d)' % attempt
        if self.agreed[scenario.__name__, side.label]:
            remark += '  (%d differences agreed)' % self.agreed[scenario.__name__, side.label]
        print('%-8s %-52s %6.1f s%s' % ('ok' if not count else 'DIFFERS', '%s [%s]' % (scenario.__name__, side.label), seconds, remark))
        for difference in found[:self.options.differences]:
            print('    ' + compare.show(difference))
        if count > self.options.differences:
            print('    and %d more' % (count - self.options.differences))
        sys.stdout.flush()

    def keep(self, scenario, records):
        if self.options.keep:
            for label, lines in records.items():
                path = pathlib.Path(self.options.keep) / label / (scenario.__name__ + '.json')
                path.write_text(json.dumps(lines, indent=1, ensure_ascii=False))

    def keep_differences(self, name, found):
        if self.options.keep and found:
            (pathlib.Path(self.options.keep) / name).write_text(''.join(compare.show(d, 4000) + '\n' for d in found))


def stops(lines):
    """A scenario that does not come to its end shows nothing, on whichever side; also where both stop alike."""
    return [compare.Difference(label, value, '(should not stop)') for label, value in lines if label.endswith(record.STOPPED)]


# The scenario in whose record all kinds of things stand that the self-check changes.
SELFCHECKED = 'create_and_delete'


def main():
    options = arguments()
    known = scenarios.load()
    if options.list:
        for scenario in known.values():
            print('%-15s %-52s %s' % (scenario.family, scenario.__name__, 'mixed' if scenario.mixed else ''))
        return 0
    unknown = set(options.names) - set(known) - {s.family for s in known.values()}
    if unknown:
        sys.exit('no such scenario: ' + ', '.join(sorted(unknown)))
    chosen = [s for s in known.values() if not options.names or s.__name__ in options.names or s.family in options.names]
    lab.sweep()
    directory = options.keep or tempfile.mkdtemp(prefix='conformance-', dir=lab.LAB_DIR / 'logs')
    comparison = Comparison(options, directory)
    comparison.run(chosen)
    checks, blind = 0, []
    if SELFCHECKED in comparison.records:
        checks, blind = len(selfcheck.CHANGES), selfcheck.blind_spots(comparison.records[SELFCHECKED])
    for spot in blind:
        print('BLIND    the comparison does not see: ' + spot)
    outlived = [] if options.names or options.ours != 'rust' else comparison.agreements.outlived(known)
    for agreement in outlived:
        print('OUTLIVED nothing differs any more in: %s %s' % agreement[:2])
    failed = sum(1 for count, _ in comparison.results.values() if count) + len(blind) + len(outlived)
    later = sum(1 for count, attempt in comparison.results.values() if not count and attempt > 1)
    if failed or options.keep:
        print('\nlogs: %s' % directory)
    else:
        shutil.rmtree(directory)
    if later:
        print('%d needed more than one attempt' % later)
    print('%d passed, %d failed' % (len(comparison.results) + checks + len(outlived) - failed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
