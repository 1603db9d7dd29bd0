"""What differs between two normalised records, as a list of Difference."""
import collections
import difflib

from normalise import canonical

Difference = collections.namedtuple('Difference', 'path oracle ours')
NOTHING = '(nothing)'


def compare(oracle, ours, without=()):
    """without: labels, past their number, that are not compared."""
    def wanted(record):
        return [(label, value) for label, value in record if label.partition(' ')[2] not in without]
    return list(differences('', wanted(oracle), wanted(ours)))


def differences(path, oracle, ours):
    if isinstance(oracle, dict) and isinstance(ours, dict):
        yield from of_mappings(path, oracle, ours)
    elif isinstance(oracle, tuple) and isinstance(ours, tuple) and oracle[0] == ours[0]:
        yield from differences(oracle[0], oracle[1], ours[1])
    elif isinstance(oracle, list) and isinstance(ours, list):
        yield from of_lists(path, oracle, ours)
    elif oracle != ours or type(oracle) is not type(ours):
        yield Difference(path, oracle, ours)


def of_mappings(path, oracle, ours):
    for key in oracle:
        yield from differences('%s.%s' % (path, key), oracle[key], ours.get(key, NOTHING))
    for key in ours:
        if key not in oracle:
            yield Difference('%s.%s' % (path, key), NOTHING, ours[key])
    if list(oracle) != list(ours) and set(oracle) == set(ours):
        yield Difference(path + ' (order of keys)', list(oracle), list(ours))


def of_lists(path, oracle, ours):
    """Lists of different lengths are aligned first, so that one item more is one difference."""
    matcher = difflib.SequenceMatcher(None, list(map(canonical, oracle)), list(map(canonical, ours)), autojunk=False)
    operations = [('replace', 0, len(oracle), 0, len(ours))] if len(oracle) == len(ours) else matcher.get_opcodes()
    for operation, a0, a1, b0, b1 in operations:
        if operation == 'equal':
            continue
        paired = min(a1 - a0, b1 - b0)
        for step in range(paired):
            yield from differences('%s[%d]' % (path, a0 + step), oracle[a0 + step], ours[b0 + step])
        for number in range(a0 + paired, a1):
            yield Difference('%s[%d]' % (path, number), oracle[number], NOTHING)
        for number in range(b0 + paired, b1):
            yield Difference('%s[+%d]' % (path, number), NOTHING, ours[number])


def show(difference, width=400):
    oracle, ours = excerpt(difference.oracle, difference.ours, width), excerpt(difference.ours, difference.oracle, width)
    return '%s\n      oracle: %s\n      ours:   %s' % (difference.path, oracle, ours)


def excerpt(value, other, width):
    """The part of a long text in which it differs from the other."""
    text, against = repr(value), repr(other)
    if len(text) <= width:
        return text
    start = next((i for i, (a, b) in enumerate(zip(text, against)) if a != b), 0)
    start = max(0, start - 60)
    return ('…' if start else '') + text[start:start + width] + ('…' if start + width < len(text) else '')
