"""What is timed of Heat's own modules."""
import json
import logging

from oslo_config import cfg
import yaql

from heat.common import identifier
from heat.common import template_format
from heat.engine import environment
from heat.engine import node_data
from heat.engine import resources
from heat.engine import stk_defn
from heat.engine import template

logging.disable(logging.WARNING)
cfg.CONF([], project='heat', default_config_files=[])
cfg.CONF.set_override('max_template_size', 1 << 22)
resources.initialise()


def definition(text, states=None):
    tmpl = template.Template(template_format.parse(text), env=environment.Environment({}))
    stack_id = identifier.HeatIdentifier('tenant', 'stack', 'id')
    stack = stk_defn.StackDefinition(None, tmpl, stack_id, states or {})
    return tmpl, stack


def interpret(text):
    """From the text to a stack's definition, with the checks that need no resource."""
    tmpl, stack = definition(text)
    tmpl.validate()
    stack.parameters.validate(validate_value=False)
    tmpl.conditions(stack).validate()
    stack._load_rsrc_defns()
    stack._load_output_defns()
    for defn in stack._resource_defns.values():
        defn.required_resource_names()


def evaluations(cases):
    """Expressions as Heat's function has them evaluated: engines and the context of the library are made once."""
    context = yaql.create_context()
    engines = {}
    for case in cases:
        limits = case['limits']
        options = {'yaql.limitIterators': limits.get('iterators', 200), 'yaql.memoryQuota': limits.get('memory', 10000)}
        key = tuple(options.values())
        if key not in engines:
            engines[key] = yaql.YaqlFactory().create(options)
        yield engines[key], case['expression'], {'data': case['data']}, context


def evaluate(engine, expression, data, context):
    try:
        engine(expression).evaluate(data, context.create_child_context())
    except Exception:
        pass  # Errors are part of the catalogue.


def work(kind, texts):
    if kind == 'yaql':
        prepared = list(evaluations([json.loads(text) for text in texts]))
        return lambda: [evaluate(*case) for case in prepared]
    if kind == 'interpret':
        return lambda: [interpret(text) for text in texts]
    prepared = []
    for text in texts:
        names = template_format.parse(text)['resources']
        states = {name: node_data.NodeData(1, name, 'uuid', name, {'output': 'value'}, 'CREATE', 'COMPLETE') for name in names}
        _, stack = definition(text, states)
        stack._load_rsrc_defns()
        prepared.append(stack)
    return lambda: [defn.freeze() for stack in prepared for defn in stack._resource_defns.values()]
