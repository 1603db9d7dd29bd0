"""Random probes. The same seed gives the same ones."""
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


FAMILIES = {
    'texts': yaml_text,
}
