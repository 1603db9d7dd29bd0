"""Random probes. The same seed gives the same ones."""
import json
import pathlib
import random


def probes(count, seed):
    for family, make in FAMILIES.items():
        for number in range(count):
            rng = random.Random('%s %d %d' % (family, seed, number))
            probe = make(rng)
            probe['name'] = 'random %s %d/%d' % (family, seed, number)
            yield 'random ' + family, probe


LINES = [
    'heat_template_version: 2018-08-31', 'a: b', '  c: d', '- e', '  - f: g', 'k: [1, 2, {x: y}]', 'k: {a: b, c}',
    'k: |', '    text', '  more text', 'k: >-', "k: 'it''s'", 'k: "a\\tb\\x41\\u00fc"', '# comment', 'k: &a value',
    'k: *a', '<<: *a', '<<: {q: r}', 'k: !!str 1', 'k: !!int "0x1F"', 'k: !local x', '---', '...', '%YAML 1.1',
    '? complex', ': value', 'k: 1:30', 'k: 0x_F', 'k: 1_000', 'k: .5', 'k: -.inf', 'k: 2001-12-14t21:59:43.10-05:00',
    'k: yes', 'k: ~', 'k: 017', 'k: 08', 'k: ', '"quoted": x', "''", '[a, b]', '{a: b}', 'k: @x', 'k: `x`', 'k: %x',
    'k: a: b', 'k: a #b', 'k: a#b', '\tk: v', 'k:\tv', 'k: [a, b', 'k: "open', "k: 'open", 'k: |2', 'k: |0', 'k: |x',
    'k: !!binary aGVsbG8=', 'k: !!set {a, b}', 'k: !!omap [a: 1]', '=: x', 'k: =', 'k: "\\q"', 'k: "\\x4"',
    'k: &a &b c', 'k: !', 'k: !<tag:yaml.org,2002:str> 5', 'k: !e!x y', 'k: {a: 1, a: 2}', '? [a]\n: b', '1: x', 'true: y',
]
CHARACTERS = list('abc012:-,[]{}#&*!|>\'"%@` \n\t?~.=<_') + ['\u00fc', '\u2028', '\x07', '\ufeff', '\u20ac', '\U0001f600', '\r']


def yaml_text(rng):
    lines = [' ' * rng.choice((0, 0, 0, 2, 4)) + rng.choice(LINES) for _ in range(rng.randint(1, 7))]
    text = '\n'.join(lines) + rng.choice(('', '\n'))
    for _ in range(rng.choice((0, 0, 1, 2, 3))):
        place = rng.randrange(len(text) + 1)
        if rng.random() < .5:
            text = text[:place] + rng.choice(CHARACTERS) + text[place:]
        else:
            text = text[:place] + text[place + 1:]
    return {'kind': 'text', 'as': rng.choice(('template', 'environment', 'any')), 'text': text}


WORDS = ['', 'a', 'b', 'abc', 'x,y', '%x%', '$a', 'a-b', '0', '1', '-1', '2.5', 'true', 'no', '\u00fc', 'a b', '\n', 'text', 'list']
NUMBERS = [0, 1, -1, 2, 3, 2.5, 1.0, 10 ** 20, -0.5]


def scalar(rng):
    return rng.choice([rng.choice(WORDS), rng.choice(WORDS), rng.choice(NUMBERS), True, False, None])


def value(rng, depth=2):
    kind = rng.random()
    if depth == 0 or kind < .55:
        return scalar(rng)
    if kind < .8:
        return [value(rng, depth - 1) for _ in range(rng.choice((0, 1, 2, 3)))]
    return {rng.choice(WORDS): value(rng, depth - 1) for _ in range(rng.choice((0, 1, 2)))}


class Snippets:
    """Expressions that mostly make sense, of a stack as `oracle.expanded` makes it."""
    parameters = ('text', 'number', 'fraction', 'list', 'json', 'flag', 'off', 'missing', 'nope')

    def __init__(self, rng, cfn=False):
        self.rng = rng
        self.cfn = cfn

    def any(self, depth=3):
        if depth == 0 or self.rng.random() < .3:
            return self.odd() if self.rng.random() < .5 else scalar(self.rng)
        return self.call(depth) if self.rng.random() < .7 else value(self.rng, 1)

    def odd(self):
        return value(self.rng, 2)

    def maybe(self, wanted, depth):
        """What is wanted, as it is, from a function, or something else."""
        kind = self.rng.random()
        if kind < .75:
            return wanted
        return self.any(depth - 1) if kind < .9 else self.odd()

    def text(self, depth):
        return self.maybe(self.rng.choice(WORDS), depth)

    def texts(self, depth):
        return self.maybe([self.text(depth - 1) for _ in range(self.rng.choice((0, 1, 2, 3)))], depth)

    def map(self, depth):
        return self.maybe({self.rng.choice(WORDS): self.any(depth - 1) for _ in range(self.rng.choice((0, 1, 2)))}, depth)

    def call(self, depth):
        rng = self.rng
        calls = self.cfn_calls(depth) if self.cfn else self.hot_calls(depth)
        name, make = rng.choice(calls)
        return {name: self.odd() if rng.random() < .04 else make()}

    def path(self):
        return [self.rng.choice(['b', 'a', 0, 1, -1, '1', 2, 'c', None, True, 1.0]) for _ in range(self.rng.choice((0, 0, 1, 2)))]

    def hot_calls(self, depth):
        rng = self.rng
        text, texts, map_of = (lambda: self.text(depth)), (lambda: self.texts(depth)), (lambda: self.map(depth))
        resource = lambda: rng.choice(['a', 'a', 'b', 'zz'])
        return [
            ('get_param', lambda: rng.choice([rng.choice(self.parameters), [rng.choice(self.parameters)] + self.path()])),
            ('get_param', lambda: [self.text(depth)] + self.path()),
            ('get_resource', resource),
            # (b is not made: asking it for an attribute is an assertion in Heat)
            ('get_attr', lambda: ['a', rng.choice(['output', 'tree', 'show', 'nope', 'x'])] + self.path()),
            ('get_attr', lambda: [rng.choice(['a', 'zz'])]),
            ('get_file', lambda: rng.choice(['f', 'missing', text()])),
            ('list_join', lambda: [text(), texts()] + [texts() for _ in range(rng.choice((0, 0, 1)))]),
            ('str_split', lambda: [rng.choice([',', 'b', '', None]), text()] + rng.choice([[], [0], ['1'], [-1], [9]])),
            ('str_replace', lambda: {'template': text(), 'params': map_of()}),
            ('str_replace_strict', lambda: {'template': text(), 'params': map_of()}),
            ('str_replace_vstrict', lambda: {'template': text(), 'params': map_of()}),
            ('repeat', lambda: {'template': self.any(depth - 1), 'for_each': self.maybe({rng.choice(['%x%', 'a', '']): texts()}, depth)}),
            ('repeat', lambda: {'template': self.any(depth - 1), 'for_each': {'%x%': texts(), 'b': self.any(depth - 1)},
                                'permutations': rng.choice([True, False, 'no'])}),
            ('digest', lambda: [rng.choice(['md5', 'SHA512', 'sha224', 'crc']), text()]),
            ('map_merge', lambda: [map_of() for _ in range(rng.choice((0, 1, 2, 3)))]),
            ('map_replace', lambda: [map_of(), self.maybe({rng.choice(['keys', 'values']): map_of()}, depth)]),
            ('list_concat', lambda: [texts(), texts()]),
            ('list_concat_unique', lambda: [value(rng, 1), texts(), texts()]),
            ('contains', lambda: [self.any(depth - 1), texts()]),
            ('filter', lambda: [texts(), texts()]),
            ('make_url', lambda: {rng.choice(['scheme', 'host', 'port', 'path', 'query', 'fragment', 'username', 'password']): self.any(depth - 1)
                                  for _ in range(3)}),
            ('if', lambda: [rng.choice(['yes', 'no', True, 'nope', {'equals': [self.any(1), self.any(1)]}]),
                            self.any(depth - 1)] + [self.any(depth - 1) for _ in range(rng.choice((1, 1, 1, 0)))]),
            # Where these are gone, Heat leaves them unresolved in the value.
            ('Fn::Select', lambda: [rng.choice([0, '1', 'a', -1, 2.5, None]), value(rng, 1)]),
            ('Ref', lambda: rng.choice(['a', 'text', 'nope'])),
            ('Fn::Join', lambda: [',', ['a', 'b']]),
        ]

    def cfn_calls(self, depth):
        rng = self.rng
        text, texts, map_of = (lambda: self.text(depth)), (lambda: self.texts(depth)), (lambda: self.map(depth))
        return [
            ('Ref', lambda: rng.choice(['A', 'Text', 'List', 'Nope', 'AWS::StackName', 'AWS::Region'])),
            ('Fn::GetAtt', lambda: [rng.choice(['A', 'B']), rng.choice(['output', 'Nope'])]),
            ('Fn::Join', lambda: [text(), texts()]),
            ('Fn::Select', lambda: [rng.choice([0, '1', 'a', -1, 2.5, None]), self.any(depth - 1)]),
            ('Fn::Split', lambda: [rng.choice([',', 'b', '']), text()]),
            ('Fn::Replace', lambda: [map_of(), text()]),
            ('Fn::Base64', text),
            ('Fn::FindInMap', lambda: [rng.choice(['M', 'N']), text(), rng.choice(['k', 'l'])]),
            ('Fn::GetAZs', text),
            ('Fn::MemberListToMap', lambda: ['Name', 'Value', self.maybe(['.member.0.Name=a', '.member.0.Value=b', text()], depth)]),
            ('Fn::ResourceFacade', lambda: rng.choice(['Metadata', 'DeletionPolicy', 'x'])),
            ('Fn::If', lambda: [rng.choice(['Yes', 'Nope', True]), self.any(depth - 1), self.any(depth - 1)]),
        ]


HOT_VERSIONS = ['2013-05-23', '2014-10-16', '2015-04-30', '2015-10-15', '2016-04-08', '2016-10-14', '2017-02-24',
                '2017-09-01', '2018-03-02', '2018-08-31', '2021-04-16', 'rocky']


def snippet(rng):
    probe = {'snippet': Snippets(rng).call(3), 'version': rng.choice(HOT_VERSIONS[-7:] + HOT_VERSIONS), 'files': {'f': 'content'}}
    if probe['version'] >= '2016-10-14':
        probe['conditions'] = {'yes': True, 'no': {'equals': [1, 2]}}
    return probe


PARAMETER_TYPES = ['string', 'number', 'comma_delimited_list', 'json', 'boolean', 'String', 'Number', 'CommaDelimitedList', 'Json', 'text']
CONSTRAINTS = [
    {'length': {'min': 1, 'max': 3}}, {'range': {'min': 0}}, {'range': {'max': 2.5, 'min': '1'}}, {'allowed_values': ['a', 1, 'true']},
    {'allowed_pattern': '[a-c]+'}, {'modulo': {'step': 2, 'offset': 1}}, {'custom_constraint': 'nova.flavor'},
    {'length': {'max': 2}, 'description': 'too long'}, {'range': {}}, {'length': {'min': 1.5}}, {'allowed_values': 'a'}, {},
]


def hot_parameter(rng):
    shown = {'type': rng.choice(PARAMETER_TYPES[:5] * 4 + PARAMETER_TYPES)}
    if rng.random() < .6:
        shown['default'] = value(rng, 1)
    if rng.random() < .4:
        shown['constraints'] = [rng.choice(CONSTRAINTS) for _ in range(rng.choice((1, 1, 2)))]
    for key, choices in (('hidden', [True, False, 'true', 0]), ('label', ['l', 5, None]), ('description', ['d', 5]),
                         ('immutable', [True, False]), ('tags', [['t'], 'x', []]), ('nonsense', [1])):
        if rng.random() < (.03 if key == 'nonsense' else .15):
            shown[key] = rng.choice(choices)
    return shown if rng.random() < .97 else value(rng, 1)


def condition(rng, depth=2):
    if depth == 0 or rng.random() < .2:
        return rng.choice([True, False, 'c0', 'c1', 'c2', 'nope', None])
    return rng.choice([
        lambda: {'equals': [scalar(rng), rng.choice([scalar(rng), {'get_param': rng.choice(['p0', 'p1', 'q'])}])]},
        lambda: {'not': condition(rng, depth - 1)},
        lambda: {'and': [condition(rng, depth - 1), condition(rng, depth - 1)]},
        lambda: {'or': [condition(rng, depth - 1) for _ in range(rng.choice((1, 2, 3)))]},
        lambda: {'contains': [scalar(rng), [scalar(rng), scalar(rng)]]},
        lambda: {'get_attr': ['a', 'b']},
        lambda: value(rng, 1),
    ])()


def hot_resource(rng):
    names = ['r0', 'r1', 'r2']
    snippets = Snippets(rng)
    snippets.parameters = ('p0', 'p1', 'p2')
    shown = {'type': rng.choice(['OS::Heat::TestResource', 'OS::Heat::Value', 'My::Type'])}
    optional = {
        'properties': lambda: {'value': snippets.any(), 'p': snippets.any()},
        'metadata': lambda: rng.choice([{'m': snippets.any(2)}, value(rng, 1)]),
        'depends_on': lambda: rng.choice([rng.choice(names), [rng.choice(names)], [], ['nope'], 5, [5], None]),
        'deletion_policy': lambda: rng.choice(['Delete', 'Retain', 'Snapshot', 'delete', 'retain', 'x', None, {'get_param': 'p0'}]),
        'update_policy': lambda: rng.choice([{}, {'u': snippets.any(1)}, 5, None]),
        'external_id': lambda: rng.choice(['id', {'get_param': 'p0'}, 5]),
        'condition': lambda: condition(rng, 1),
        'description': lambda: rng.choice(['d', 5, None]),
        'nonsense': lambda: 1,
    }
    for key, make in optional.items():
        if rng.random() < {'properties': .8, 'nonsense': .02, 'external_id': .05}.get(key, .2):
            shown[key] = make()
    return shown if rng.random() < .97 else value(rng, 1)


def hot_template(rng):
    body = {'heat_template_version': rng.choice(HOT_VERSIONS + HOT_VERSIONS[-5:])}
    body['parameters'] = {'p%d' % n: hot_parameter(rng) for n in range(rng.choice((1, 2, 3)))}
    if rng.random() < .4:
        body['conditions'] = {'c%d' % n: condition(rng) for n in range(rng.choice((1, 2, 3)))}
    body['resources'] = {'r%d' % n: hot_resource(rng) for n in range(rng.choice((1, 2, 3)))}
    snippets = Snippets(rng)
    snippets.parameters = ('p0', 'p1', 'p2')
    if rng.random() < .7:
        body['outputs'] = {'o': {'value': snippets.any(), 'description': rng.choice(['d', 5, None])}}
        if rng.random() < .2:
            body['outputs']['o']['condition'] = condition(rng, 1)
    if rng.random() < .2:
        body['parameter_groups'] = rng.choice([[{'label': 'g', 'parameters': ['p0', rng.choice(['p1', 'p0', 'nope'])]}], [{}], {}, 5, []])
    if rng.random() < .05:
        body[rng.choice(['nonsense', 'Resources', 'outputs', 'resources', 'parameters'])] = value(rng, 1)
    environment = {'parameters': {'p%d' % n: value(rng, 1) for n in range(3) if rng.random() < .4}}
    if rng.random() < .2:
        environment['parameter_defaults'] = {'p0': value(rng, 1)}
    return {'template': body, 'environment': environment}


def cfn_template(rng):
    snippets = Snippets(rng, cfn=True)
    key = rng.choice(['AWSTemplateFormatVersion', 'HeatTemplateFormatVersion'])
    body = {key: '2010-09-09' if key[0] == 'A' else '2012-12-12'}
    body['Parameters'] = {'Text': {'Type': 'String', 'Default': 'abc'}, 'List': {'Type': 'CommaDelimitedList', 'Default': 'a,b'}}
    if rng.random() < .5:
        shown = {'Type': rng.choice(['String', 'Number', 'Json', 'CommaDelimitedList', 'string'])}
        for name, choices in (('Default', WORDS + NUMBERS), ('MinLength', ['1', 2, 'x']), ('MaxValue', [5, '5']), ('AllowedValues', [['a', 1], 'a']),
                              ('AllowedPattern', ['[a-c]*', '[']), ('NoEcho', ['true', True, 'no']), ('ConstraintDescription', ['bad'])):
            if rng.random() < .3:
                shown[name] = rng.choice(choices)
        body['Parameters']['P'] = shown
    body['Mappings'] = {'M': {'a': {'k': 'v', 'l': ['w']}, 'abc': {'k': 1}}}
    if rng.random() < .4:
        body['Conditions'] = {'Yes': {'Fn::Equals': [{'Ref': 'Text'}, rng.choice(['abc', 'x'])]},
                              'Odd': rng.choice([{'Fn::Not': ['Yes']}, {'Fn::And': ['Yes', True]}, {'Fn::Not': 'Yes'}, {'Ref': 'A'}])}
    resource = lambda: {key: make() for key, make in {
        'Type': lambda: 'AWS::EC2::Instance', 'Properties': lambda: {'x': snippets.any(), 'y': snippets.any()},
        'Metadata': lambda: {'m': snippets.any(2)}, 'DependsOn': lambda: rng.choice(['A', 'B', ['A'], 5, ['nope']]),
        'DeletionPolicy': lambda: rng.choice(['Retain', 'Delete', 'retain', 'x']), 'UpdatePolicy': lambda: rng.choice([{'u': 1}, 5]),
        'Condition': lambda: rng.choice(['Yes', 'Nope', True, 5]), 'Nonsense': lambda: 1,
    }.items() if key == 'Type' or rng.random() < {'Properties': .9, 'Nonsense': .05}.get(key, .2)}
    body['Resources'] = {'A': resource(), 'B': resource()}
    body['Outputs'] = {'O': {'Value': snippets.any(), 'Description': 'd'}}
    made = {'action': 'CREATE', 'status': 'COMPLETE', 'attributes': {'output': 'made'}}
    return {'template': body, 'environment': {'parameters': {'P': value(rng, 1)} if rng.random() < .4 else {}},
            'states': {name: dict(made, reference_id=name + '-id') for name in 'AB'}}


def environment(rng):
    types = ['OS::Heat::None', 'OS::Heat::Value', 'My::A', 'My::B', 'Your::C', 'OS::Nova::Server', 'x.yaml', 'y.template']
    patterns = ['My::*', 'OS::*', 'My::A*', '*', 'OS::Heat::*']

    def registry(depth=1):
        entries = {}
        for _ in range(rng.choice((0, 1, 2, 3))):
            kind = rng.random()
            if kind < .45:
                entries[rng.choice(types)] = rng.choice(types + [None])
            elif kind < .7:
                entries[rng.choice(patterns)] = rng.choice(types + patterns + [None])
            elif kind < .8 and depth:
                entries.setdefault('resources', {})[rng.choice(['r', 'r*', '[rs]'])] = registry(0)
            elif kind < .9:
                entries['hooks'] = rng.choice(['pre-create', ['pre-update', 'post-delete'], 'x', [], 5])
            else:
                entries['restricted_actions'] = rng.choice(['update', ['replace'], 'x', []])
        return entries

    def sections():
        shown = {}
        for name, make in (('parameters', lambda: {'p': value(rng, 1)}), ('parameter_defaults', lambda: {'q': value(rng, 1)}),
                           ('resource_registry', registry), ('encrypted_param_names', lambda: ['p']), ('event_sinks', list),
                           ('flat', lambda: 1)):
            if rng.random() < .5:
                shown[name] = make()
        return shown
    return {'kind': 'environment', 'environment': sections(), 'load': [sections() for _ in range(rng.choice((0, 1)))],
            'types': [[rng.choice(types[:6]), rng.choice([None, 'r', 's'])] for _ in range(3)],
            'hooks': [['r', 'pre-create'], ['s', 'pre-update']], 'restricted': ['r', 's']}


def merge(rng):
    names = ['p0', 'p1', 'p2', 'p3']
    parameters = {name: {'type': rng.choice(PARAMETER_TYPES[:5])} for name in names[:3]}

    def fitting(name):
        kind = parameters.get(name, {'type': 'string'})['type']
        return {'string': 'ab', 'number': rng.choice([1, 2.5, '3']), 'comma_delimited_list': rng.choice(['a,b', ['a', 'b']]),
                'json': rng.choice([{'k': {'l': [1], 'm': 's'}}, '{"k": {"n": 1}}', {}]), 'boolean': True}[kind] if rng.random() < .9 else value(rng, 1)

    def contents():
        shown = {}
        for section in ('parameters', 'parameter_defaults'):
            if rng.random() < .7:
                shown[section] = {name: fitting(name) for name in names if rng.random() < .6}
        if rng.random() < .7:
            shown['parameter_merge_strategies'] = {name: rng.choice(['merge', 'deep_merge', 'overwrite', 'x'])
                                                   for name in names + ['default'] if rng.random() < .4}
        if rng.random() < .3:
            shown['resource_registry'] = {'A': rng.choice(['B', 'C'])}
        return shown
    base = {'parameters': {'p0': fitting('p0')} if rng.random() < .3 else {}, 'parameter_defaults': {}, 'resource_registry': {}}
    return {'kind': 'merge', 'parameters': parameters, 'environment': base, 'files': {'f%d' % n: contents() for n in range(rng.choice((1, 2, 3)))}}


def python_value(rng):
    return {'kind': 'python', 'value': value(rng, 3)}


ATOMS = ['a', 'b', '.', '[a-c]', '[^a]', '\\d', '\\w', '\\s', '\\.', '(a|b)', '(?:ab)', '[a\\]]', '[]a]', 'ab', '\\b', '^', '$', '\\Z', '(?=a)', '(?!b)',
         '(?i)', '{', '}', '\\1', '(?P<n>a)', '(?P=n)', '[', '(', ')', '*', '\\q', '\\x61', '\\101', '[[:alpha:]]', '[a&&b]', ' ', '\u00fc', '[\\d-x]',
         '\\B', '|', '(?<=a)', '(?<!ab|c)', '(?<=a|bc)', '(?<=\\1)', '(?(1)a|b)', '(?(1)a|b|c)', '(?(n)b)', '(?(2)a)', '(?>a|ab)', '(?s)', '(?x) # a\n',
         '(?i:B)', '(?-i:b)', '(?a:\\w)', '(?m:^)', '(?ms-i:.$)', '(?L)', '(?au)', '(?i-)', '(?', '(?P', '(?P<', '(?P<1>a)', '(?P<n', '(?<', '(?<x',
         '(?z)', '(?#a)', '(?#', '(?:', '\\N{DIGIT ONE}', '\\N{NO SUCH}', '\\N', '\\x6', '\\ud800', '\\U00110000', '\\0', '\\08', '\\400', '\\9', '[\\8]',
         '[b-a]', '[\\w\\b-]', '[^\\ud800]', '[\\400]', '\n', '{,}', '{2', '{3,2}', '{99999999999}', '\\']
QUANTIFIERS = ['', '', '', '*', '+', '?', '{2}', '{1,}', '{,2}', '*?', '+?', '??', '{1,2}?', '*+', '{x}']


def regex(rng):
    pattern = ''.join(rng.choice(ATOMS[:24] if rng.random() < .7 else ATOMS) + rng.choice(QUANTIFIERS) for _ in range(rng.choice((1, 2, 3, 4))))
    texts = [''.join(rng.choice(['a', 'b', 'c', '1', ' ', '.', '\n', '\u00fc', ']', 'B', '\u00b2', '\u0301', '-']) for _ in range(rng.randint(0, 6))) for _ in range(6)]
    return {'kind': 'regex', 'pattern': pattern, 'texts': texts}


INVENTORY = json.loads((pathlib.Path(__file__).resolve().parents[3] / 'src/plugins/inventory.json').read_text())


WELL_FORMED = {'ip_addr': '10.0.0.1', 'net_cidr': '10.0.0.0/24', 'ip_or_cidr': '10.0.0.0/24', 'mac_addr': '00:00:00:00:00:01',
               'dns_name': 'a.example.', 'dns_domain': 'example.', 'rel_dns_name': 'a'}


def fitting(rng, schema, depth=3, odd=.12):
    """A value that mostly fits a property."""
    if rng.random() < odd:
        return value(rng, 1)
    for constraint in schema.get('constraints', []):
        if 'allowed_values' in constraint and rng.random() < .8:
            allowed = rng.choice(constraint['allowed_values'])
            return [allowed] if schema['type'] == 'list' else allowed
        if constraint.get('custom_constraint') in WELL_FORMED and rng.random() < .8:
            return WELL_FORMED[constraint['custom_constraint']]
        if 'range' in constraint and rng.random() < .7:
            return rng.choice([bound for bound in constraint['range'].values()]) + rng.choice([0, 0, 1, -1])
    kind = schema['type']
    if kind == 'map':
        if 'keys' not in schema or not depth:
            return {rng.choice(WORDS): scalar(rng)}
        return {name: fitting(rng, key, depth - 1, odd) for name, key in schema['keys'].items()
                if rng.random() < (.9 if key.get('required') else .3)}
    if kind == 'list':
        item = schema.get('items')
        return [fitting(rng, item, depth - 1, odd) if item and depth else scalar(rng) for _ in range(rng.choice((0, 1, 2)))]
    return {'string': lambda: rng.choice(WORDS), 'integer': lambda: rng.choice([1, 0, -3, '5', 10 ** 12]),
            'number': lambda: rng.choice([1, 2.5, '1.5', '3']), 'boolean': lambda: rng.choice([True, False, 'true', 'False']),
            'any': lambda: value(rng, 1)}[kind]()


def properties(rng):
    name = rng.choice(sorted(INVENTORY))
    schema = INVENTORY[name]['properties']
    given = {key: fitting(rng, shown) for key, shown in schema.items() if rng.random() < (.9 if shown.get('required') else .3)}
    if rng.random() < .05:
        given['nonsense'] = 1
    return {'kind': 'properties', 'type': name, 'properties': given}


# The types of which the catalogue has probes of this kind.
RULED = sorted({probe['type'] for probe in json.loads((pathlib.Path(__file__).parent / 'probes/rules.json').read_text())})


def referring(rng, value):
    """The value, or what refers to another resource in its place."""
    if rng.random() < .07:
        return rng.choice([{'get_resource': 'other'}, {'get_resource': 'second'}, {'get_attr': ['other', 'output']}])
    if isinstance(value, list):
        return [referring(rng, item) for item in value]
    if isinstance(value, dict):
        return {key: referring(rng, item) for key, item in value.items()}
    return value


def rules(rng):
    """A resource that its schema mostly takes; half of them know all their values."""
    name = rng.choice(RULED)
    often = rng.choice((.2, .4, .7))
    given = {key: fitting(rng, shown, odd=0) for key, shown in INVENTORY[name]['properties'].items()
             if rng.random() < (1 if shown.get('required') else often)}
    if rng.random() < .5:
        given = referring(rng, given)
    return {'kind': 'rules', 'type': name, 'properties': given}


FAMILIES = {
    'rules': rules,
    'properties': properties,
    'texts': yaml_text,
    'snippets': snippet,
    'hot templates': hot_template,
    'cfn templates': cfn_template,
    'environments': environment,
    'merges': merge,
    'values': python_value,
    'regexes': regex,
}
