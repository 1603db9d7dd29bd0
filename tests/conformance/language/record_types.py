"""Records what the types of the oracle look like, for `src/plugins/inventory.json`.

    ~/.cache/heat-lab/venv/bin/python tests/conformance/language/record_types.py > src/plugins/inventory.json

Names, types, constraints, defaults, in the order in which Heat looks at them; no descriptions. What is usual is left out: a text that need not be there, without a
default.
"""
import json
import logging

from oslo_config import cfg

from heat.engine import properties
from heat.engine import resource
from heat.engine import resources
from heat.engine import support


def recorded(schema):
    shown = {'type': schema.type.lower()}
    for name in ('required', 'update_allowed', 'immutable'):
        if getattr(schema, name):
            shown[name] = True
    if not schema.implemented:
        shown['implemented'] = False
    if schema.default is not None:
        shown['default'] = schema.default
    if schema.constraints:
        shown['constraints'] = [dict(constraint) for constraint in schema.constraints]
        for constraint in shown['constraints']:
            constraint.pop('description', None)
    if schema.support_status.status != support.SUPPORTED:
        shown['status'] = schema.support_status.status
    if schema.schema is not None:
        if schema.type == schema.LIST:
            shown['items'] = recorded(schema.schema['*'])
        else:
            shown['keys'] = {name: recorded(key) for name, key in schema.schema.items()}
    return shown


def type_recorded(resource_class):
    shown = {
        'properties': {name: recorded(properties.Schema.from_legacy(schema))
                       for name, schema in resource_class.properties_schema.items()},
        'attributes': sorted(set(resource_class.attributes_schema) | set(resource_class.base_attributes_schema)),
    }
    if resource_class.get_attribute is not resource.Resource.get_attribute:
        shown['any_attribute'] = True
    if callable(getattr(resource_class, 'handle_snapshot_delete', None)):
        shown['snapshot'] = True
    if resource_class.support_status.status != support.SUPPORTED:
        shown['status'] = resource_class.support_status.status
    return shown


def main():
    logging.disable(logging.WARNING)
    cfg.CONF([], project='heat', default_config_files=[])
    resources.initialise()
    registry = resources.global_env().registry._registry
    lines = []
    for name, info in sorted(registry.items()):
        resource_class = getattr(info, 'value', None)
        if isinstance(resource_class, type) and issubclass(resource_class, resource.Resource):
            lines.append('%s: %s' % (json.dumps(name), json.dumps(type_recorded(resource_class))))
    print('{\n%s\n}' % ',\n'.join(lines))


if __name__ == '__main__':
    main()
