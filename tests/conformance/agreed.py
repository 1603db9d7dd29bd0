"""Where we differ from the oracle on purpose. Each is told, with its reason, in docs/compatibility.md as well.

A difference is agreed where scenario, path (a pattern of fnmatch) and, if given, a text in either value fit. The path may leave out the number of
the step. An entry that nothing fits in a whole run is reported: it has outlived its reason.
"""
import collections
import fnmatch

Agreement = collections.namedtuple('Agreement', 'scenario path reason holding', defaults=('',))

AGREED = (
    Agreement('one_fails_while_another_is_being_made', '*event*', holding='Test Resource failed b', reason=(
        'the oracle writes an event for the stack\'s second failure although its write to the stack was lost')),
    Agreement('bad_parameters_are_refused', 'parameters 15.*',
              'a custom constraint that fails on a parameter is the user\'s error (400), not the engine\'s (500)'),
    Agreement('bad_environments_are_refused', 'environment: registry_circle.*',
              'a type that maps to itself is the user\'s error (400), not a RecursionError of the engine (500)'),
    Agreement('bad_environments_are_refused', 'environment: event_sinks_bad.*',
              'an event sink that cannot be is the user\'s error (400), not a KeyError of the engine (500)'),
    Agreement('bad_environments_are_refused', 'environment: registry_file_missing.*',
              'not yet: types that are templates; without a Python engine to have them they are unknown'),
    Agreement('bad_environments_are_refused', 'environment: encrypted_names_a_text.*',
              'a text is no list of names; the oracle takes it for a list of letters'),
    Agreement('environment_maps_types', '*resource_registry.My::*',
              'the oracle writes back what it looked up for one resource, and has it hold for all from then on'),
    Agreement('validation', 'POST /validate?ignore_errors=x.body', holding='<HTTPBadRequest',
              reason='the oracle shows the address of a Python object'),
)


class Agreements:
    def __init__(self):
        self.used = set()

    def divide(self, scenario, differences):
        """Those that are not agreed, and how many are."""
        open_ones = [d for d in differences if not self.agreed(scenario, d)]
        return open_ones, len(differences) - len(open_ones)

    def agreed(self, scenario, difference):
        for agreement in AGREED:
            if agreement.scenario == scenario and fits(agreement, difference):
                self.used.add(agreement)
                return True
        return False

    def outlived(self, scenarios):
        return [a for a in AGREED if a.scenario in scenarios and a not in self.used]


def fits(agreement, difference):
    unnumbered = difference.path.partition(' ')[2]
    path = agreement.path
    by_path = fnmatch.fnmatchcase(difference.path, path) or fnmatch.fnmatchcase(unnumbered, path)
    return by_path and any(agreement.holding in repr(value) for value in (difference.oracle, difference.ours))
