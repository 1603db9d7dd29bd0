"""Runs the template language of Heat and ours on the same input and compares what comes out. `run` starts it."""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys

import corpus
import generate
import oracle
import ours
import reach

HERE = pathlib.Path(__file__).resolve().parent
BATCH = 200
KINDS = ('equal', 'agreed', 'other words', 'different')
# Of random nonsense it counts that both sides refuse it.
LENIENT = ('random texts',)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--corpus', metavar='DIRECTORY', action='append', default=[],
                        help='templates and environments to compare; may be given several times')
    parser.add_argument('--random', metavar='N', type=int, default=0, help='so many random probes of each family')
    parser.add_argument('--seed', type=int, default=1, help='what the random ones begin with')
    parser.add_argument('--family', metavar='NAME', action='append', help='only these; --list names them')
    parser.add_argument('--name', metavar='TEXT', help='only probes whose name contains this')
    parser.add_argument('--show', metavar='N', type=int, default=20, help='how many differences to show')
    parser.add_argument('--list', action='store_true', help='name the families, with the number of probes in each')
    parser.add_argument('--reach', action='store_true', help='tell which errors of Heat the catalogue never meets, and end')
    parser.add_argument('--profile', choices=('dev', 'release'), default='release', help='how our side is built')
    parser.add_argument('--probe', metavar='PATH', default=os.environ.get('HEAT_LANGUAGE_PROBE'),
                        help='our side, if built already')
    return parser.parse_args()


def families(options):
    yield from oracle.catalogue(HERE / 'probes')
    for directory in options.corpus:
        yield from corpus.probes(pathlib.Path(directory))
    yield from generate.probes(options.random, options.seed)


def counted(catalogue):
    """How many probes of the catalogue look at what."""
    looks_at = {'text': 'texts in YAML or JSON', 'stack': 'templates', 'snippet': 'calls of functions'}
    counts = collections.Counter()
    for _, probe in catalogue:
        kind = 'snippet' if 'snippet' in probe else probe.get('kind', 'stack')
        counts[looks_at.get(kind, kind)] += 1
    return ', '.join('%d %s' % (count, kind) for kind, count in counts.most_common())


def chosen(options):
    for family, probe in families(options):
        if options.family and family not in options.family:
            continue
        if options.name and options.name not in probe['name']:
            continue
        yield family, probe


def batches(items):
    batch = []
    for item in items:
        batch.append(item)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


class Summary:
    def __init__(self, show):
        self.counts = collections.defaultdict(collections.Counter)
        self.left_to_show = show

    def add(self, family, judgement):
        if not judgement['differences']:
            kind = 'equal'
        elif judgement['agreed']:
            kind = 'agreed'
        elif judgement['both_refuse'] and family in LENIENT:
            kind = 'other words'
        else:
            kind = 'different'
            self.show(family, judgement)
        self.counts[family][kind] += 1

    def show(self, family, judgement):
        if self.left_to_show > 0:
            self.left_to_show -= 1
            print('%s: %s' % (family, judgement['name']))
            for difference in judgement['differences']:
                print('   ', difference)

    def print(self):
        kinds = KINDS
        rows = [(family, *(counts[kind] for kind in kinds)) for family, counts in sorted(self.counts.items())]
        rows.append(('all', *(sum(row[column] for row in rows) for column in range(1, len(kinds) + 1))))
        print('%-24s' % 'family', *('%11s' % title for title in ('compared', *kinds)))
        for family, *numbers in rows:
            print('%-24s' % family, *('%11d' % number for number in (sum(numbers), *numbers)))
        return rows[-1][-1]


def main():
    options = arguments()
    if options.list:
        counts = collections.Counter(family for family, _ in chosen(options))
        for family, count in sorted(counts.items()):
            print('%-24s %d' % (family, count))
        return 0
    if options.reach:
        watch = reach.Watch()
        for _, probe in oracle.catalogue(HERE / 'probes'):
            watch.during(lambda: oracle.answer(probe))
        return 1 if reach.report(watch) else 0
    probe_path = ours.example('language_probe', options.probe, options.profile)
    summary = Summary(options.show)
    for batch in batches(chosen(options)):
        answered = [oracle.answer(probe) for _, probe in batch]
        judged = subprocess.run([probe_path], input=json.dumps(answered), text=True, check=True, stdout=subprocess.PIPE)
        for (family, _), judgement in zip(batch, json.loads(judged.stdout), strict=True):
            summary.add(family, judgement)
    different = summary.print()
    if options.random:
        print('random probes from --seed %d' % options.seed)
    print('catalogue: ' + counted(oracle.catalogue(HERE / 'probes')))
    return 1 if different else 0


if __name__ == '__main__':
    sys.exit(main())
