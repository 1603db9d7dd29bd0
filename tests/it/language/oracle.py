"""Prints what heat answers for its template versions, and for the functions of each, without and with those of conditions."""
import json
from unittest import mock

from heat.engine import service

engine = mock.Mock()


def functions(version, with_condition):
    return service.EngineService.list_template_functions(engine, None, version, with_condition)


versions = service.EngineService.list_template_versions(engine, None)
names = [name for version in versions for name in [version['version']] + version['aliases']]
# First all without conditions: the other question changes the answer to this one for the rest of the process.
without = {name: functions(name, False) for name in names}
print(json.dumps({'versions': versions, 'without': without, 'with': {name: functions(name, True) for name in names}}))
