"""Calls methods of an engine as heat-api does, with the stock client, and shows what came back.

Reads a JSON list of {"method", "args"} (optional: "user", "version", "topic", "server", "timeout") from standard input;
writes a JSON list of {"result"} or {"failure": what the frame held, "shown": what heat-api would answer}.

    rpc_call.py HEAT_CONF KEYSTONE_URL < calls.json
"""

import json
import sys

from keystoneauth1 import session
from keystoneauth1.identity import v3
from oslo_config import cfg
from oslo_log import log
import oslo_messaging
from oslo_messaging._drivers import common as driver

from heat.api.middleware import fault
from heat.common import config  # noqa: F401
from heat.common import context
from heat.common import messaging

raw_failures = []
deserialize = driver.deserialize_remote_exception


def remember(data, allowed):
    raw_failures.append(json.loads(data))
    return deserialize(data, allowed)


driver.deserialize_remote_exception = remember
contexts = {}


def context_of(user, keystone_url):
    if user not in contexts:
        project, password = ('admin', 'admin') if user == 'admin' else ('demo', 'demo')
        auth = v3.Password(
            auth_url=keystone_url + '/v3', username=user, password=password, project_name=project,
            user_domain_id='default', project_domain_id='default')
        access = auth.get_access(session.Session(auth=auth))
        contexts[user] = context.RequestContext(
            auth_token=access.auth_token, user_id=access.user_id, username=user, project_id=access.project_id,
            project_name=project, user_domain_id='default', project_domain_id='default', roles=access.role_names,
            auth_url=keystone_url + '/v3/', region_name='RegionOne', auth_token_info={'token': access._data['token']})
    return contexts[user]


def call(request, keystone_url):
    client = messaging.get_rpc_client(version='1.0', topic=request.get('topic', 'engine'))
    prepared = client.prepare(
        version=request.get('version', '1.36'), timeout=request.get('timeout', 60),
        **({'server': request['server']} if 'server' in request else {}))
    try:
        caller = context_of(request.get('user', 'demo'), keystone_url)
        return {'result': prepared.call(caller, request['method'], **request.get('args', {}))}
    except oslo_messaging.MessagingTimeout:
        return {'failure': {'class': 'MessagingTimeout'}}
    except Exception as error:
        failure = raw_failures[-1] if raw_failures else {'class': type(error).__name__, 'message': str(error)}
        failure.pop('tb', None)
        shown = fault.FaultWrapper(None)._error(error)
        shown['error'].pop('traceback', None)
        return {'failure': failure, 'shown': shown}


def main():
    conf, keystone_url = sys.argv[1:3]
    log.register_options(cfg.CONF)
    cfg.CONF(['--config-file', conf], project='heat', prog='heat-api')
    messaging.setup()
    json.dump([call(request, keystone_url) for request in json.load(sys.stdin)], sys.stdout, indent=1)


main()
