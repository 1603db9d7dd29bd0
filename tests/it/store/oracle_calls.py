"""The steps of oracle.rs, done by the Python engine's own database layer."""

import datetime
import json
import sys

from oslo_config import cfg
from oslo_utils import timeutils

from heat.common import context
from heat.db import api
from heat.objects import resource as resource_objects
from heat.objects import resource_properties_data as rpd
from heat.objects import stack as stack_objects
from heat.objects import sync_point as sync_point_objects

cfg.CONF([], project='heat')
cfg.CONF.set_override('connection', sys.argv[1], 'database')
timeutils.set_time_override(datetime.datetime.fromisoformat(sys.argv[2]))
LATER = timeutils.utcnow() + datetime.timedelta(seconds=90)

cnxt = context.RequestContext(project_id='p1', is_admin=False)


def row_values(name, **more):
    values = {'uuid': 'uuid-' + name, 'stack_id': 'stack-s', 'root_stack_id': 'stack-s', 'name': name,
              'physical_resource_id': None, 'action': 'INIT', 'status': 'COMPLETE', 'status_reason': '',
              'rsrc_prop_data_id': None, 'needed_by': [], 'requires': [], 'replaces': None, 'replaced_by': None,
              'current_template_id': 1, 'updated_at': None, 'properties_data': None}
    values.update(more)
    return values


def fill():
    api.raw_template_files_create(cnxt, {'files': {'a.yaml': 'h\u00e9'}})
    api.raw_template_create(cnxt, {'template': {'heat_template_version': '2018-08-31'}, 'files_id': 1,
                                   'environment': {'parameters': {'p': '\u20ac'}}})
    api.raw_template_create(cnxt, {'template': {'n': 2}, 'environment': {}, 'files_id': 1})
    stack = {'id': 'stack-s', 'name': 's', 'raw_template_id': 1, 'username': 'demo', 'action': 'CREATE',
             'status': 'IN_PROGRESS', 'status_reason': 'Stack CREATE started', 'tenant': 'p1',
             'disable_rollback': True, 'convergence': True, 'current_traversal': 't1', 'owner_id': None,
             'stack_user_project_id': None, 'user_creds_id': None, 'nested_depth': 0, 'prev_raw_template_id': None,
             'current_deps': None, 'parent_resource_name': None, 'timeout': None, 'backup': False,
             'updated_at': None}
    stack_objects.Stack.create(cnxt, stack)
    api.stack_tags_set(cnxt, 'stack-s', ['a', '\u00e9'])
    for entity in (1, 2, 'stack-s'):
        sync_point_objects.SyncPoint.create(cnxt, {
            'entity_id': entity, 'traversal_id': 't1', 'is_update': True, 'atomic_key': 0, 'stack_id': 'stack-s',
            'input_data': {}})
    api.resource_create(cnxt, row_values('one'))
    api.resource_create(cnxt, row_values('two', requires=[1], rsrc_metadata={}))
    taken = api.resource_update(cnxt, 1, {'engine_id': 'e1'}, None)
    lost = api.resource_update(cnxt, 1, {'engine_id': 'e2'}, None)
    assert (taken, lost) == (True, False)
    rpd.ResourcePropertiesData.create(cnxt, {'length': 8, 'x': '\u00e9'})
    api.event_create(cnxt, {
        'uuid': 'event-1', 'stack_id': 'stack-s', 'resource_name': 'one', 'physical_resource_id': None,
        'resource_action': 'CREATE', 'resource_status': 'IN_PROGRESS', 'resource_status_reason': '\u00e9' * 300,
        'resource_type': 'OS::Heat::TestResource', 'rsrc_prop_data_id': 1})
    api.event_create(cnxt, {
        'uuid': 'event-2', 'stack_id': 'stack-s', 'resource_name': 's', 'created_at': LATER,
        'resource_status_reason': None, 'resource_type': 'OS::Heat::Stack'})
    api.resource_update_and_save(cnxt, 1, {'physical_resource_id': 'phys-1', 'rsrc_prop_data_id': 1})
    api.resource_data_set(cnxt, 1, 'plain', 'v1')
    api.resource_data_set(cnxt, 1, 'kept', 'v1')
    timeutils.set_time_override(LATER)
    api.resource_data_set(cnxt, 1, 'plain', 'v2')
    api.resource_data_set(cnxt, 1, 'kept', 'v1')
    api.resource_update(cnxt, 1, {'engine_id': None, 'action': 'CREATE', 'status': 'COMPLETE',
                                  'status_reason': '\u20ac' * 30000, 'updated_at': LATER,
                                  'rsrc_metadata': {'k': '\u00e9'}}, 1, expected_engine_id='e1')
    sync_point_objects.SyncPoint.update_input_data(cnxt, 2, 't1', True, 0, {'input_data': {'tuple:(1, True)': 1}})
    sync_point_objects.SyncPoint.update_input_data(cnxt, 2, 't1', True, 0, {'never': 1})
    sync_point_objects.SyncPoint.update_input_data(cnxt, 'stack-s', 't1', True, 0, None, {'skip': True})
    resource_objects.Resource.store_attributes(cnxt, 1, 2, {'attr': '\u00e9'}, None)
    resource_objects.Resource.store_attributes(cnxt, 1, 3, {'attr': 2}, 2)
    api.raw_template_update(cnxt, 2, {'environment': {}})
    api.raw_template_update(cnxt, 1, {'environment': {'parameters': {'p': 2}}})
    changes = {'action': 'CREATE', 'status': 'FAILED', 'status_reason': 'bad', 'current_traversal': '',
               'prev_raw_template_id': 2, 'updated_at': LATER, 'current_deps': {'edges': [[[1, True], None]]}}
    assert stack_objects.Stack.select_and_update(cnxt, 'stack-s', changes, exp_trvsl='t1')
    assert not stack_objects.Stack.select_and_update(cnxt, 'stack-s', {'status': 'X'}, exp_trvsl='t1')
    replacement = row_values('two', uuid='uuid-three', replaces=2, current_template_id=2, requires=[3, 1])
    for unset in ('status_reason', 'replaced_by', 'physical_resource_id'):
        del replacement[unset]
    api.resource_create_replacement(cnxt, 2, replacement, None)
    service = {'id': 'service-1', 'engine_id': 'e1', 'host': 'h', 'hostname': 'm', 'binary': 'heat-engine',
               'topic': 'engine', 'report_interval': 60}
    api.service_create(cnxt, dict(service))
    api.service_update(cnxt, 'service-1', {'deleted_at': None})
    api.service_create(cnxt, dict(service, id='service-2', engine_id='e2'))
    api.service_update(cnxt, 'service-2', {'deleted_at': None})
    api.service_delete(cnxt, 'service-2')
    assert api.stack_lock_create(cnxt, 'stack-s', 'e1') is None
    assert api.stack_lock_create(cnxt, 'stack-s', 'e2') == 'e1'
    assert api.stack_lock_steal(cnxt, 'stack-s', 'e1', 'e2') is None


def empty():
    api.resource_attr_data_delete(cnxt, 1, 2)
    rpd.ResourcePropertiesData.create(cnxt, {'kept': True})
    resource_objects.Resource.store_attributes(cnxt, 3, None, {'attr': 3}, None)
    api.resource_update_and_save(cnxt, 3, {'action': 'DELETE', 'status': 'COMPLETE'})
    stack_objects.Stack.update_by_id(cnxt, 'stack-s', {'prev_raw_template_id': None})
    api.resource_purge_deleted(cnxt, 'stack-s')
    api.resource_delete(cnxt, 2)
    api.sync_point_delete_all_by_stack_and_traversal(cnxt, 'stack-s', 't1')
    api._delete_event_rows
    with api.context_manager.writer.using(cnxt):
        api._delete_event_rows(cnxt, 'stack-s', 1)
    api.stack_lock_release(cnxt, 'stack-s', 'e2')
    api.stack_tags_set(cnxt, 'stack-s', ['b'])
    api.service_delete(cnxt, 'service-2', soft_delete=False)
    api.stack_delete(cnxt, 'stack-s')


fill()
if sys.argv[3] == 'empty':
    empty()
print(json.dumps('done'))
