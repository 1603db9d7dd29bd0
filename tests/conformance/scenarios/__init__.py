"""The scenarios: each a function that is given a record.Scenario. A family of them is a module here."""
import importlib
import pathlib

REGISTRY = {}


def scenario(function=None, *, mixed=False, only_mixed=None, frames_by_chance=None, options=''):
    """Registers a scenario.

    mixed: also run where a Python engine and one of ours share the work.
    only_mixed: why it needs a Python engine beside ours; it then runs nowhere else.
    frames_by_chance: why the number and content of frames are not the same twice; they are then not compared.
    options: lines of heat.conf that the engines have beside main.OPTIONS.
    """
    def register(function):
        if function.__name__ in REGISTRY:
            raise ValueError('two scenarios are called ' + function.__name__)
        function.mixed = bool(mixed or only_mixed)
        function.only_mixed = only_mixed
        function.frames_by_chance = frames_by_chance
        function.options = options
        function.family = function.__module__.rsplit('.', 1)[1]
        REGISTRY[function.__name__] = function
        return function
    return register(function) if function else register


def load():
    for module in sorted(pathlib.Path(__file__).parent.glob('[a-z]*.py')):
        importlib.import_module('scenarios.' + module.stem)
    return REGISTRY


# ------------------------------------------------------------ templates

def template(resources, **sections):
    return dict({'heat_template_version': '2021-04-16'}, **sections, resources=resources)


def test_resource(depends_on=None, **properties):
    return resource('OS::Heat::TestResource', depends_on, **properties)


def resource(kind, depends_on=None, **properties):
    snippet = {'type': kind}
    if depends_on:
        snippet['depends_on'] = depends_on
    if properties:
        snippet['properties'] = properties
    return snippet
