"""Times the template language of Heat and ours on the same templates, and prints a table. `run` starts it."""
import argparse
import json
import pathlib
import subprocess
import time

import oracle
import ours

ROOT = pathlib.Path(__file__).resolve().parents[3]
SUFFIXES = ('.yaml', '.template')


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--corpus', metavar='DIRECTORY', action='append', default=[], help='templates as people write them')
    parser.add_argument('--rounds', type=int, default=5, help='the fastest counts')
    parser.add_argument('--ours', metavar='PATH', help='our side, if built already (cargo build --release --example language_bench)')
    return parser.parse_args()


def corpus(directories):
    """The templates that Heat takes; the others would be timed for their refusal."""
    texts = []
    for directory in directories:
        for path in sorted(pathlib.Path(directory).rglob('*')):
            if path.suffix in SUFFIXES and path.is_file():
                text = path.read_text(errors='replace')
                try:
                    oracle.interpret(text)
                except Exception:
                    continue
                texts.append(text)
    return texts


def large(resources):
    """About 300 kB for a thousand resources."""
    lines = ['heat_template_version: 2018-08-31', 'parameters:', '  name: {type: string, default: n}', 'resources:']
    for number in range(resources):
        lines += ['  r%d:' % number, '    type: OS::Heat::Value', '    properties:', '      type: json', '      value:',
                  '        name:', '          str_replace:', '            template: name-number-of-it',
                  '            params: {name: {get_param: name}, number: "%d"}' % number,
                  '        joined: {list_join: ["-", [a, b, {get_param: name}]]}', '        plain: [1, 2.5, yes, text, "quoted"]']
    return '\n'.join(lines) + '\n'


def asking(resources):
    """Each resource asks another for an attribute."""
    body = {'heat_template_version': '2018-08-31', 'resources': {}}
    for number in range(resources):
        body['resources']['r%d' % number] = {
            'type': 'OS::Heat::TestResource',
            'properties': {'value': {'get_attr': ['r%d' % (number // 2), 'output']}} if number else {},
        }
    return json.dumps(body)


def expressions():
    """The catalogue of YAQL expressions, each with its data."""
    groups = json.loads((ROOT / 'tests/conformance/yaql/catalogue.json').read_text())
    return [json.dumps({'expression': expression, 'data': group.get('data'), 'limits': group.get('limits') or {}})
            for group in groups for expression in group['expressions']]


def fastest(rounds, work):
    best = None
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        took = time.perf_counter() - start
        best = took if best is None else min(best, took)
    return best


def main():
    options = arguments()
    texts = corpus(options.corpus)
    attributes = (500, 1000, 2000)
    cases = {}
    if texts:
        cases['%d templates of the corpus: read, interpret, validate' % len(texts)] = {'kind': 'interpret', 'texts': texts}
    for count in (100, 1000):
        text = large(count)
        name = '%d resources, %d kB: read, interpret, validate' % (count, len(text) // 1000)
        cases[name] = {'kind': 'interpret', 'texts': [text]}
    for count in attributes:
        cases['resolve the properties of %d resources with get_attr' % count] = {'kind': 'resolve', 'texts': [asking(count)]}
    catalogue = expressions()
    cases['%d YAQL expressions: read, evaluate' % len(catalogue)] = {'kind': 'yaql', 'texts': catalogue}
    request = json.dumps({'rounds': options.rounds, 'cases': cases})
    our_figures = json.loads(subprocess.run([ours.example('language_bench', options.ours)], input=request, text=True, check=True, stdout=subprocess.PIPE).stdout)
    print('| case | Python (ms) | ours (ms) | times faster |')
    print('| --- | ---: | ---: | ---: |')
    for name, case in cases.items():
        theirs = fastest(options.rounds, oracle.work(case['kind'], case['texts']))
        print('| %s | %.1f | %.2f | %.0f |' % (name, theirs * 1000, our_figures[name] * 1000, theirs / our_figures[name]))


if __name__ == '__main__':
    main()
