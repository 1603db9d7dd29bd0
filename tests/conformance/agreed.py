"""Where we differ from the oracle on purpose. Each is told, with its reason, in docs/compatibility.md as well.

A difference is agreed where scenario, path (patterns of fnmatch) and, if given, a text in either value (`holding`) or in the
oracle's (`oracle_holding`) fit. The path may leave out the number of the step. An entry that nothing fits in a whole run is reported: it has outlived its reason.
(Not so where the oracle differs `by_chance` from itself.)
"""
import collections
import fnmatch

Agreement = collections.namedtuple('Agreement', 'scenario path reason holding oracle_holding by_chance', defaults=('', '', False))
# What a scenario writes down where Python fails over a value of the wrong kind, in whatever words.
BROKEN = 'fails over a value of the wrong kind'

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
    Agreement('senseless_arguments_*', '*', oracle_holding=BROKEN, reason=(
        'values of a kind that heat-api never sends: we refuse them in words of our own, or take them as text')),
    Agreement('senseless_arguments_of_a_create', 'rows at the end.*', oracle_holding='of nobody', reason=(
        'a create that the database refuses leaves nothing; that of the oracle leaves its template and its credentials')),
    Agreement('an_output_asks_for_what_another_attribute_names', '*output_error', oracle_holding='is incorrect', by_chance=True, reason=(
        'the oracle finds it or not, by the chance in which order it meets the two resources')),
    Agreement('an_output_asks_for_what_another_attribute_names', '*output_value', oracle_holding='None', by_chance=True,
              reason='the same'),
    Agreement('questions_without_a_stack', 'authenticated_to_backend()*',
              'says whether the caller is authenticated, where 27.0.1 always fails'),
    Agreement('calls_that_cannot_be_served', 'target()*', 'an attribute of the oracle\'s service object is no method of the contract'),
    Agreement('senseless_arguments_of_questions', 'validate_template: *', holding='<HTTPBadRequest',
              reason='the oracle shows the address of a Python object'),
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
            if fnmatch.fnmatchcase(scenario, agreement.scenario) and fits(agreement, difference):
                self.used.add(agreement)
                return True
        return False

    def outlived(self, scenarios):
        return [a for a in AGREED if a not in self.used and not a.by_chance and fnmatch.filter(scenarios, a.scenario)]


def fits(agreement, difference):
    unnumbered = difference.path.partition(' ')[2]
    path = agreement.path
    by_path = fnmatch.fnmatchcase(difference.path, path) or fnmatch.fnmatchcase(unnumbered, path)
    return (by_path and agreement.oracle_holding in repr(difference.oracle) and
            any(agreement.holding in repr(value) for value in (difference.oracle, difference.ours)))
