"""A peer that speaks through the real oslo.messaging.

Takes the transport URL and a JSON object of [oslo_messaging_rabbit] options; then reads commands from standard input,
a JSON object a line, and answers each with one line.
"""
import json
import logging
import sys
import threading
import time
import warnings

warnings.simplefilter('ignore')

import amqp
import oslo_messaging
from oslo_config import cfg

from heat.common import exception

logging.basicConfig(stream=sys.stderr, level=logging.CRITICAL)

URL, OPTIONS = sys.argv[1], json.loads(sys.argv[2])
CONF = cfg.CONF
CONF([], project='peer')
oslo_messaging.set_transport_defaults('heat')
TRANSPORT = oslo_messaging.get_rpc_transport(
    CONF, URL, allowed_remote_exmods=['heat.common.exception'])
for name, value in OPTIONS.items():
    CONF.set_override(name, value, group='oslo_messaging_rabbit')

RECORDED = []
NOTIFIED = []
LOCK = threading.Lock()
SERVERS = []


class Endpoint:
    def __init__(self, version):
        self.target = oslo_messaging.Target(version=version)

    def echo(self, ctxt, **arguments):
        return {'arguments': arguments, 'context': ctxt}

    def record(self, ctxt, number):
        with LOCK:
            RECORDED.append(number)

    def missing(self, ctxt, name):
        raise exception.EntityNotFound(entity='Stack', name=name)

    def nothing(self, ctxt):
        return None

    def slow(self, ctxt, seconds):
        time.sleep(seconds)
        return 'awake'


class Listener:
    def _note(self, priority, ctxt, publisher_id, event_type, payload, metadata):
        with LOCK:
            NOTIFIED.append({'priority': priority, 'publisher_id': publisher_id,
                             'event_type': event_type, 'payload': payload,
                             'context': ctxt, 'metadata': metadata})

    def info(self, *arguments):
        self._note('info', *arguments)

    def error(self, *arguments):
        self._note('error', *arguments)


def serve(topic, server, version):
    target = oslo_messaging.Target(topic=topic, server=server)
    rpc = oslo_messaging.get_rpc_server(
        TRANSPORT, target, [Endpoint(version)], executor='threading',
        access_policy=oslo_messaging.DefaultRPCAccessPolicy)
    rpc.start()
    SERVERS.append(rpc)


def client(topic, version=None, server=None, fanout=None, namespace=None, timeout=10, call_monitor_timeout=None):
    target = oslo_messaging.Target(topic=topic, version=version, server=server,
                                   fanout=fanout, namespace=namespace)
    return oslo_messaging.get_rpc_client(
        TRANSPORT, target, timeout=timeout, call_monitor_timeout=call_monitor_timeout)


def call(method, args=None, context=None, **target):
    try:
        return {'result': client(**target).call(context or {}, method, **(args or {}))}
    except Exception as error:
        return {'error': {
            'class': type(error).__name__, 'module': type(error).__module__,
            'bases': [base.__name__ for base in type(error).__mro__],
            'text': str(error), 'message': getattr(error, 'message', None),
            'exc_type': getattr(error, 'exc_type', None), 'value': getattr(error, 'value', None)}}


def cast(method, args=None, context=None, **target):
    client(**target).cast(context or {}, method, **(args or {}))


def listen(topics):
    transport = oslo_messaging.get_notification_transport(CONF, URL)
    targets = [oslo_messaging.Target(topic=topic) for topic in topics]
    listener = oslo_messaging.get_notification_listener(transport, targets, [Listener()], executor='threading')
    listener.start()
    SERVERS.append(listener)


def notify(driver, event_type, payload, priority):
    transport = oslo_messaging.get_notification_transport(CONF, URL)
    notifier = oslo_messaging.Notifier(transport, 'orchestration.peer', driver=driver, topics=['notifications'])
    getattr(notifier, priority)({}, event_type, payload)


def raw(routing_key, body=None, size=None, exchange='heat', properties=None, times=1):
    """Publishes a body as it is."""
    url = oslo_messaging.TransportURL.parse(CONF, URL)
    host = url.hosts[0]
    body = 'x' * size if size else body
    with amqp.Connection(host='%s:%s' % (host.hostname, host.port), userid=host.username, password=host.password,
                         virtual_host=url.virtual_host, confirm_publish=True) as connection:
        channel = connection.channel()
        for _ in range(times):
            channel.basic_publish(amqp.Message(body, **(properties or {})), exchange=exchange, routing_key=routing_key)


COMMANDS = {
    'serve': serve, 'call': call, 'cast': cast, 'listen': listen, 'notify': notify, 'raw': raw,
    'recorded': lambda: RECORDED, 'notified': lambda: NOTIFIED,
}

print(json.dumps('ready'), flush=True)
for line in sys.stdin:
    command, arguments = json.loads(line)
    try:
        answer = COMMANDS[command](**arguments)
    except Exception as error:
        answer = {'raised': repr(error)}
    print(json.dumps(answer), flush=True)

for server in SERVERS:
    server.stop()
    server.wait()
TRANSPORT.cleanup()
