"""What a user does with one stack: create it, change it a few times, and in the end keep or delete it."""
import threading
import time

import requests

FINAL = ('COMPLETE', 'FAILED')


def api_works(rig, tenant):
    try:
        return requests.get('%s/v1/%s/stacks' % (rig.api_url, tenant.project_id), headers={'X-Auth-Token': tenant.token()},
                            timeout=30).status_code == 200
    except requests.RequestException:
        return False


def template(chance, count, generation, failing=False):
    """A graph of resources that need each other; `generation` is in every value."""
    resources = {}
    for number in range(count):
        earlier = ['r%d' % other for other in range(number)]
        needed = chance.sample(earlier, min(len(earlier), chance.choice((0, 0, 1, 2, 3))))
        value = '%d-%d' % (generation, number)
        properties = {'value': value}
        if needed and chance.random() < 0.5:
            properties['value'] = {'list_join': ['', [value, {'str_replace': {
                'template': '', 'params': {'x': {'get_attr': [needed[0], 'output']}}}}]]}
        if chance.random() < 0.3:
            seconds = round(chance.uniform(0.2, 4), 1)
            properties['action_wait_secs'] = {'create': seconds, 'update': seconds, 'delete': seconds / 2}
        if chance.random() < 0.15:
            properties['update_replace_value'] = str(generation)
        resources['r%d' % number] = {'type': 'OS::Heat::TestResource', 'properties': properties, 'depends_on': needed}
    if failing:
        chance.choice(list(resources.values()))['properties']['fail'] = True
    return {'heat_template_version': '2018-08-31', 'resources': resources}


class Life(threading.Thread):
    def __init__(self, rig, tenant, name, chance, options):
        super().__init__(daemon=True)
        self.rig, self.tenant, self.name, self.chance, self.options = rig, tenant, name, chance, options
        self.id = None
        # What must be there in the end: a generation, `gone`, or nothing that is known.
        self.wanted = None
        self.asked = 0
        self.refused = 0
        self.over = threading.Event()

    def run(self):
        try:
            self.live()
        finally:
            self.over.set()

    def live(self):
        time.sleep(self.chance.uniform(0, self.options.seconds / 4))
        generation = 1
        self.create(generation)
        for _ in range(self.chance.choice((1, 2, 2, 3))):
            self.wait(self.chance.uniform(2, 30))
            generation += 1
            fate = self.chance.random()
            if fate < 0.25:
                # Rolled back to whatever was there before, if it was whole.
                self.update(generation, failing=True)
            elif fate < 0.35:
                self.ask('POST', '/%s/%s/actions' % (self.name, self.id), {'cancel_update': None}, attempts=1)
            else:
                self.update(generation)
        self.wait(self.chance.uniform(2, 30))
        if self.chance.random() < 0.4:
            self.ask('DELETE', '/%s/%s' % (self.name, self.id), None, attempts=60)
            self.wanted = 'gone'
        else:
            self.update(generation + 1, attempts=60)
            self.wanted = generation + 1

    def create(self, generation):
        # One in five fails, and is rolled back to nothing.
        failing = self.chance.random() < 0.2
        body = {'stack_name': self.name, 'template': self.draw(generation, failing), 'timeout_mins': 600, 'disable_rollback': not failing}
        self.ask('POST', '', body, attempts=60)
        while self.id is None:
            rows = self.read('SELECT id FROM stack WHERE name = %s', self.name)
            if rows:
                self.id = rows[0]['id']
            elif not self.ask('POST', '', body, attempts=60):
                time.sleep(1)

    def update(self, generation, failing=False, attempts=5):
        body = {'template': self.draw(generation, failing), 'timeout_mins': 600, 'disable_rollback': not failing}
        self.ask('PUT', '/%s/%s' % (self.name, self.id), body, attempts)

    def draw(self, generation, failing=False):
        return template(self.chance, self.options.resources, generation, failing)

    def ask(self, method, path, body, attempts):
        """Asks until it is granted, or refused for a reason that will not pass."""
        self.asked += 1
        for _ in range(attempts):
            try:
                answer = requests.request(method, '%s/v1/%s/stacks%s' % (self.rig.api_url, self.tenant.project_id, path), json=body,
                                          headers={'X-Auth-Token': self.tenant.token()}, timeout=60)
                if answer.status_code < 400:
                    return True
                # 409: what was asked for has been done by an attempt whose answer was lost; 404: it is gone.
                if answer.status_code in (400, 404, 409) and 'ActionInProgress' not in answer.text:
                    return False
            except (requests.RequestException, OSError):
                pass
            except Exception as error:                       # a token that Keystone could not give
                print('  %s: %s' % (self.name, type(error).__name__))
            self.refused += 1
            time.sleep(1)
        return False

    def wait(self, seconds):
        """For the end of what is going on, but not for ever."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            rows = self.read('SELECT status, deleted_at FROM stack WHERE id = %s', self.id)
            if rows and (rows[0]['deleted_at'] or rows[0]['status'] in FINAL):
                return
            time.sleep(0.5)

    def read(self, query, *arguments):
        from verdict import rows
        return rows(self.rig, query, *arguments)
