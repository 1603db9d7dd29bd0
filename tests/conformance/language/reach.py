"""Which of the oracle's error paths the catalogue takes: every `raise` of the modules that read, interpret and resolve.

What cannot be reached by what a tenant sends stands in `unreached.json`, each with its reason."""
import ast
import json
import pathlib
import sys

import heat

HEAT = pathlib.Path(heat.__file__).parent
HERE = pathlib.Path(__file__).resolve().parent
MODULES = [
    'common/environment_format.py', 'common/environment_util.py', 'common/template_format.py', 'engine/cfn/functions.py',
    'engine/cfn/parameters.py', 'engine/cfn/template.py', 'engine/conditions.py', 'engine/environment.py', 'engine/function.py',
    'engine/hot/functions.py', 'engine/hot/parameters.py', 'engine/hot/template.py', 'engine/output.py',
    'engine/parameter_groups.py', 'engine/parameters.py', 'engine/rsrc_defn.py', 'engine/template.py', 'engine/template_common.py',
]


# What types check beyond their schemas.
RULES = sorted(str(path.relative_to(HEAT)) for path in (HEAT / 'engine/resources').rglob('*.py')
               if 'def validate' in path.read_text())


class Watch:
    """Remembers which lines of the modules ran while it watched."""

    def __init__(self):
        self.reached = {str(HEAT / module): set() for module in MODULES + RULES}

    def during(self, work):
        # Anew each time: Python forgets a tracer that was in the way of a RecursionError.
        sys.settrace(self._enter)
        try:
            return work()
        finally:
            sys.settrace(None)

    def _enter(self, frame, event, argument):
        return self._line if frame.f_code.co_filename in self.reached else None

    def _line(self, frame, event, argument):
        if event == 'line':
            self.reached[frame.f_code.co_filename].add(frame.f_lineno)
        return self._line

    def unreached(self):
        """Each as module, place, and how many errors there are never raised."""
        for module in MODULES + RULES:
            path = HEAT / module
            places = {}
            for place, line in errors_of(module):
                places.setdefault(place, []).append(line)
            for place, lines in places.items():
                missing = [line for line in lines if line not in self.reached[str(path)]]
                if missing:
                    yield module, place, missing


def errors_of(module):
    """Of the modules of types only what they say when a stack is validated."""
    for place, line in errors(ast.parse((HEAT / module).read_text())):
        if module in MODULES or 'valid' in place.rpartition('.')[2]:
            yield place, line


def errors(node, place=''):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            yield from errors(child, '%s.%s' % (place, child.name) if place else child.name)
        else:
            if isinstance(child, ast.Raise):
                yield place, child.lineno
            yield from errors(child, place)


def report(watch):
    """Prints what is unreached without a reason, and what has a reason but is reached; how many these are."""
    excused = json.loads((HERE / 'unreached.json').read_text())
    found = {'%s %s' % (module, place): lines for module, place, lines in watch.unreached()}
    wrong = ['never raised: %s, line %s' % (place, ', '.join(map(str, lines)))
             for place, lines in found.items() if len(lines) > excused.get(place, [0])[0]]
    wrong += ['raised after all: %s' % place for place, (count, _) in excused.items() if len(found.get(place, [])) < count]
    total = sum(1 for module in MODULES + RULES for _ in errors_of(module))
    print('\n'.join(wrong))
    print('%d errors in the modules of Heat, %d cannot be reached by a template or environment, %d are not reached'
          % (total, sum(count for count, _ in excused.values()), len(wrong)))
    return len(wrong)
