"""Prints what heat tells of each type named on the command line: its schema with the description, and the templates that
mirror it. Null for a template that heat fails to make."""
import json
import sys
from unittest import mock

from heat.engine import resources
from heat.engine import service

resources.initialise()


def schema(name):
    resource_class = resources.global_env().get_class(name)
    with mock.patch.object(resource_class, 'is_service_available', return_value=(True, None)):
        return service.EngineService.resource_schema(mock.Mock(), None, name, with_description=True)


def template(name, dialect):
    try:
        return service.EngineService.generate_template(mock.Mock(), None, name, dialect)
    except KeyError:                     # a property that may be anything
        return None


print(json.dumps([{'schema': schema(name), 'hot': template(name, 'hot'), 'cfn': template(name, 'cfn')}
                  for name in sys.argv[1:]]))
