"""Prints what heat's resource_schema answers for each type named on the command line, with its description."""
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


print(json.dumps([schema(name) for name in sys.argv[1:]]))
