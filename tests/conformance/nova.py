"""A nova that knows availability zones, in a region of its own: whoever names another region sees a cloud without nova."""
import http.server
import json
import threading

import rig as lab


# The oracle asks for it before it asks for anything else.
VERSION = (200, json.dumps({'version': {'id': 'v2.1', 'status': 'CURRENT', 'version': '2.96', 'min_version': '2.1', 'links': []}}),
           'application/json')


class Nova:
    """Answers on loopback until `close`."""

    def __init__(self, keystone_admin, keystone_url, region, zones):
        self.region = region
        self.admin = keystone_admin
        self.keystone_url = keystone_url
        self.service_id = None
        self.changes = 0                        # of the catalogue
        self.serve(zones)
        self.server = http.server.ThreadingHTTPServer((lab.LAB['LAB_HOST'], 0), handler_of(self))
        self.url = 'http://%s:%d/v2.1' % self.server.server_address
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.make('regions', region={'id': region})

    def serve(self, zones):
        """Has these zones from now on."""
        self.answer(200, json.dumps({'availabilityZoneInfo': [
            {'zoneName': zone, 'zoneState': {'available': available}, 'hosts': None} for zone, available in zones]}))

    def answer(self, status, text='', kind='application/json'):
        """Answers so from now on, whoever asks for zones."""
        self.zones = (status, text, kind)

    def enter_catalogue(self):
        """Until then no catalogue tells of it."""
        self.changes += 1
        self.service_id = self.make('services', service={'type': 'compute', 'name': 'nova'})
        self.make('endpoints', endpoint={
            'service_id': self.service_id, 'interface': 'public', 'url': self.url, 'region_id': self.region})

    def leave_catalogue(self):
        self.changes += 1
        self.admin.delete('%s/services/%s' % (self.keystone_url, self.service_id))
        self.service_id = None

    def make(self, collection, **body):
        answer = self.admin.post('%s/%s' % (self.keystone_url, collection), json=body).json()
        return answer[collection[:-1]]['id']

    def close(self):
        if self.service_id:
            self.leave_catalogue()
        self.admin.delete('%s/regions/%s' % (self.keystone_url, self.region))
        self.server.shutdown()
        self.server.server_close()


def handler_of(nova):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def do_GET(self):
            status, text, kind = nova.zones if self.path.endswith('/os-availability-zone') else VERSION
            body = text.encode()
            self.send_response(status)
            self.send_header('Content-Type', kind)
            self.send_header('Content-Length', str(len(body)))
            self.send_header('x-openstack-request-id', 'req-of-nova')
            self.send_header('x-compute-request-id', 'req-of-compute')
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    return Handler
