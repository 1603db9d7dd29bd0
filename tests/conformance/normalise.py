"""Makes two records comparable: what differs from one run to the next gets a name that does not.

What is replaced, and by what:
- ids of rows: by what the row is (`resource NAME/1` is the first row of that name, `template 2` the second by id);
- UUIDs of stacks and resources, traversals and engines: by the same names; other UUIDs and long hex words: by their kind;
- points in time: by their shape, so that a missing fraction or zone still shows;
- random words (the tail of a physical name, RandomString's values): by their length and characters;
- tokens, addresses of this run's API, the names that keep the rigs apart.

What is put in order, because it has none: rows and frames (by content), events of different resources (those of one
resource keep theirs), edges of a graph and lists of ids (sets of Python, whose order depends on the ids), outputs,
resources and attributes (the oracle itself goes through sets there).
"""
import base64
import json
import re

from cryptography import fernet

import record as recording
import rig as lab

UUID = r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
TIME = re.compile(r'\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?')
PATTERNS = (
    (re.compile('req-' + UUID), '<request>'),
    (re.compile(UUID), '<uuid>'),
    (re.compile(r'\b[0-9a-f]{32}\b'), '<hex 32>'),
    (re.compile(r'\b[0-9a-f]{64}\b'), '<hex 64>'),
    (re.compile(r'\bat 0x[0-9a-f]+\b'), 'at <address>'),
)
CUT_HEX = re.compile(r'\b(?=[a-f]*\d)[0-9a-f]{8,31}\Z')               # where a reason was cut to a column's length
CIRCLE = re.compile(r'(Circular Dependency Found: \{)(.*)\}')        # a set, printed
PHYSICAL_NAME = re.compile(r'(.+-)([a-z0-9]{12})')
FERNET = re.compile(r'gAAAAA[\w=-]{60,}')                            # Keystone's tokens, and what Heat encrypts
NODE = re.compile(r"tuple:\((\d+), (True|False)(.*)\)")
JSON_COLUMNS = {
    'stack': ('current_deps',), 'raw_template': ('template', 'files', 'environment'), 'raw_template_files': ('files',),
    'resource': ('rsrc_metadata', 'properties_data', 'needed_by', 'requires'), 'resource_properties_data': ('data',),
    'sync_point': ('input_data', 'extra_data'), 'snapshot': ('data',), 'software_config': ('config',),
    'software_deployment': ('input_values', 'output_values'), 'resource_snapshot': ('data',),
}
# column -> the table whose id it holds
REFERENCES = {
    'raw_template_id': 'raw_template', 'prev_raw_template_id': 'raw_template', 'current_template_id': 'raw_template',
    'files_id': 'raw_template_files', 'user_creds_id': 'user_creds', 'replaces': 'resource', 'replaced_by': 'resource',
    'resource_id': 'resource', 'rsrc_prop_data_id': 'resource_properties_data', 'attr_data_id': 'resource_properties_data',
}
CIPHER = fernet.Fernet(base64.b64encode(lab.LAB['LAB_AUTH_ENCRYPTION_KEY'].encode()[:32]))
SECRET = {'password', 'trust_id', 'username'}
FRAME_NOISE = {'_unique_id', '_msg_id', '_reply_q', 'message_id'}


def normalise(record, known):
    """known: words of this run -> their names (API address, project, users...)."""
    return Normaliser(record, known).record()


class Normaliser:
    def __init__(self, record, known):
        self.raw = record
        self.words = dict(known)
        self.ids = {}                       # (table, id) -> name
        self.learn(record)
        longest_first = sorted(self.words, key=len, reverse=True)
        self.known = re.compile('|'.join(map(re.escape, longest_first))) if longest_first else None

    def record(self):
        return [(self.text(label), self.part(value)) for label, value in self.raw]

    def part(self, value):
        if isinstance(value, recording.Rows):
            return self.rows(value)
        if isinstance(value, recording.Frames):
            return sorted((self.frame(frame) for frame in value), key=canonical)
        if isinstance(value, recording.Notifications):
            return self.notifications(value)
        return self.reply(value)

    # ------------------------------------------------------------ names

    def learn(self, record):
        dumps = [value for _, value in record if isinstance(value, recording.Rows)]
        seen = {table: {} for table in recording.TABLES}
        for dump in dumps:
            for table, rows in dump.items():
                for row in rows:
                    seen[table][identity(row)] = row
        stacks = self.learn_stacks(list(seen['stack'].values()))
        self.learn_resources(sorted(seen['resource'].values(), key=lambda row: row['id']), stacks)
        for row in seen['event'].values():
            physical = PHYSICAL_NAME.fullmatch(row['physical_resource_id'] or '')
            if physical and row['resource_name'] in physical[1]:
                self.words.setdefault(physical[0], physical[1] + '<12>')
        self.learn_templates(dumps, stacks)
        self.learn_properties(dumps, stacks)
        self.learn_random_values(seen['resource_data'].values())
        self.learn_traversals(dumps, record)

    def learn_stacks(self, rows):
        names, count = {}, {}
        for row in sorted(rows, key=lambda row: str(row['created_at'])):
            count[row['name']] = count.get(row['name'], 0) + 1
            names[row['id']] = '%s/%d' % (row['name'], count[row['name']])
            self.words[row['id']] = '<stack %s>' % names[row['id']]
            if row['stack_user_project_id']:
                self.words[row['stack_user_project_id']] = '<stack user project>'
        return names

    def learn_resources(self, rows, stacks):
        count = {}
        for row in rows:
            full = '%s/%s' % (stacks.get(row['stack_id'], '?'), row['name'])
            count[full] = count.get(full, 0) + 1
            name = '%s/%d' % (full, count[full])
            self.ids['resource', row['id']] = 'resource ' + name
            self.words[row['uuid']] = '<uuid of %s>' % name
            physical = row['nova_instance'] and PHYSICAL_NAME.fullmatch(row['nova_instance'])
            if physical and row['name'] in row['nova_instance'] or physical and len(row['nova_instance']) > 60:
                self.words[row['nova_instance']] = '%s<12 of %s>' % (physical[1], name)
            elif row['nova_instance'] and re.fullmatch('[0-9a-f]{32}', row['nova_instance']):
                self.words[row['nova_instance']] = '<physical id of %s>' % name
            if row['engine_id']:
                self.words[row['engine_id']] = '<engine>'

    def learn_templates(self, dumps, stacks):
        owners = {table: {} for table in ('raw_template', 'raw_template_files', 'user_creds')}
        for dump in dumps:
            for row in dump['resource']:
                owners['raw_template'][row['current_template_id']] = stacks.get(row['stack_id'])
            for row in dump['stack']:
                for column in ('raw_template_id', 'prev_raw_template_id', 'user_creds_id'):
                    owners[REFERENCES[column]][row[column]] = stacks[row['id']]
        for dump in dumps:
            for row in dump['raw_template']:
                owners['raw_template'].setdefault(row['id'], None)
                owners['raw_template_files'][row['files_id']] = owners['raw_template'][row['id']]
            for row in dump['user_creds']:
                owners['user_creds'].setdefault(row['id'], None)
        for table, owner_of in owners.items():
            count = {}
            for row_id in sorted(filter(None, owner_of)):
                owner = owner_of[row_id] or 'nobody'
                count[owner] = count.get(owner, 0) + 1
                self.ids[table, row_id] = '%s of %s/%d' % (table, owner, count[owner])

    def learn_properties(self, dumps, stacks):
        owners = {}
        for dump in dumps:
            for row in dump['resource']:
                name = '%s/%s' % (stacks.get(row['stack_id']), row['name'])
                owners.setdefault(row['rsrc_prop_data_id'], 'properties of ' + name)
                owners.setdefault(row['attr_data_id'], 'attributes of ' + name)
            for row in dump['event']:
                name = '%s/%s' % (stacks.get(row['stack_id']), row['resource_name'])
                owners.setdefault(row['rsrc_prop_data_id'], 'properties of ' + name)
            for row in dump['resource_properties_data']:
                owners.setdefault(row['id'], 'data of nobody')
        count = {}
        for row_id in sorted(filter(None, owners)):
            owner = owners[row_id]
            count[owner] = count.get(owner, 0) + 1
            self.ids['resource_properties_data', row_id] = '%s/%d' % (owner, count[owner])

    def learn_random_values(self, rows):
        for row in rows:
            if row['decrypt_method'] != 'cryptography_decrypt_v1':
                continue
            plain = decrypted(row['value'])
            if plain is None:
                continue
            name = '%d characters of %s' % (len(plain), self.id('resource', row['resource_id']))
            self.words[row['value']] = '<encrypted: %s>' % name
            if len(plain) >= 6:          # shorter ones might also stand elsewhere
                self.words.setdefault(plain, '<%s>' % name)

    def learn_traversals(self, dumps, record):
        """Numbered are those that a stack was seen in, in the order of the looks; others came and went unseen."""
        for dump in dumps:
            for row in sorted(dump['stack'], key=lambda row: row['name']):
                if row['current_traversal']:
                    name = self.words[row['id']].strip('<>')
                    number = len({t for t in self.words.values() if t.startswith('<traversal of %s ' % name)}) + 1
                    self.words.setdefault(row['current_traversal'], '<traversal of %s %d>' % (name, number))
        others = [row['traversal_id'] for dump in dumps for row in dump['sync_point']]
        for _, value in record:
            if isinstance(value, recording.Frames):
                others.extend(frame['message'].get('args', {}).get('current_traversal') for frame in value)
        for traversal in filter(None, others):
            self.words.setdefault(traversal, '<traversal>')

    # ------------------------------------------------------------ text and values

    def text(self, text):
        text = NODE.sub(lambda m: 'tuple:(%s, %s%s)' % (self.id('resource', int(m[1])), m[2], m[3]), text)
        if self.known:
            text = self.known.sub(lambda m: self.words[m[0]], text)
        text = TIME.sub(lambda m: '<time%s%s%s>' % (m[1], '.f' if m[2] else '', m[3] or ''), text)
        for pattern, name in PATTERNS:
            text = pattern.sub(name, text)
        text = FERNET.sub(self.sealed, text)
        text = CUT_HEX.sub('<hex, cut>', text)
        return CIRCLE.sub(lambda m: m[1] + ', '.join(sorted(m[2].split(', '))) + '}', text)

    def sealed(self, match):
        plain = decrypted(match[0])
        return '<token>' if plain is None else '<encrypted: %s>' % self.text(plain)

    def id(self, table, row_id):
        if row_id is None:
            return None
        return '<%s>' % self.ids.get((table, row_id), '%s unseen' % table)

    def value(self, value, key=None):
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            if key == 'required_by':
                return sorted(map(self.value, value))
            if key in ('requires', 'needed_by'):
                return sorted((self.id('resource', item) for item in value), key=str)
            if key == 'edges':
                return sorted(([self.node(end) for end in edge] for edge in value), key=canonical)
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            if value and all(NODE.fullmatch(name) for name in value):
                return self.input_data(value)
            return {self.text(name): self.value(item, name) for name, item in value.items()}
        if key in ('id', 'resource_id', 'replaces', 'replaced_by') and type(value) is int:
            return self.id('resource', value)
        return value

    def input_data(self, data):
        """In the order in which the predecessors came; of a cleanup the values are ids."""
        normal = {self.text(name): self.id('resource', item) if type(item) is int else self.value(item)
                  for name, item in data.items()}
        return dict(sorted(normal.items()))

    def node(self, node):
        return node and [self.id('resource', node[0]), node[1]]

    # ------------------------------------------------------------ replies

    def reply(self, reply):
        value = self.value(reply)
        body = value.get('body') if isinstance(value, dict) else None
        if isinstance(body, dict):
            if isinstance(body.get('events'), list):
                body['events'] = by_name(body['events'], lambda e: (e['logical_resource_id'], ))
            for listed, name in (('resources', 'resource_name'), ('outputs', 'output_key')):
                for holder in (body, body.get('stack')):
                    if isinstance(holder, dict) and isinstance(holder.get(listed), list):
                        holder[listed] = by_name(holder[listed], lambda item: (item.get(name),))
            described = body.get('resource')
            if isinstance(described, dict) and isinstance(described.get('attributes'), dict):
                described['attributes'] = dict(sorted(described['attributes'].items()))
        return value

    # ------------------------------------------------------------ rows

    def rows(self, dump):
        return {table: self.table(table, rows) for table, rows in dump.items()}

    def table(self, table, rows):
        if table == 'event':
            ordered = sorted(rows, key=lambda row: row['id'])
            return by_name([self.row(table, row) for row in ordered], lambda e: (e['stack_id'], e['resource_name']))
        return sorted((self.row(table, row) for row in rows), key=canonical)

    def row(self, table, row):
        normal = {column: self.cell(table, column, value) for column, value in row.items()}
        if table == 'resource_properties_data' and 'attributes of' in normal['id'] and isinstance(normal['data'], dict):
            normal['data'] = dict(sorted(normal['data'].items()))
        return normal

    def cell(self, table, column, value):
        if value is None:
            return None
        if column in JSON_COLUMNS.get(table, ()):
            return self.json_text(column, value)
        if column in REFERENCES:
            return self.id(REFERENCES[column], value)
        if column == 'id' and isinstance(value, int):
            return '<%s>' % self.ids.get((table, value), table)
        if table == 'sync_point' and column == 'entity_id' and value.isdigit():
            return self.id('resource', int(value))
        if table == 'user_creds' and column in SECRET:
            return '<%s>' % column
        if column == 'engine_id' and re.fullmatch(UUID, str(value)):
            return '<engine>'
        return self.text(value) if isinstance(value, str) else value

    def json_text(self, column, text):
        """The value, where the text is what Python's json.dumps writes for it; else the text, which says so."""
        try:
            value = json.loads(text)
        except ValueError:
            return {'not JSON': self.text(text)}
        normal = self.value(value, column)
        return normal if json.dumps(value) == text else {'not as json.dumps writes it': text[:2000], 'value': normal}

    # ------------------------------------------------------------ the bus

    def frame(self, frame):
        message = {key: '<noise>' if key in FRAME_NOISE else
                   self.id('resource', value) if key == 'resource_id' else value
                   for key, value in frame['message'].items()}
        if isinstance(message.get('_context_auth_token_info'), dict):
            message['_context_auth_token_info'] = '<token info>'
        routing_key = re.sub(r'(engine_worker|listener)\.' + UUID, r'\1.<engine>', frame['routing_key'])
        return self.value(dict(frame, message=message, routing_key=routing_key))

    def notifications(self, frames):
        return by_name([self.frame(frame) for frame in frames],
                       lambda f: (f['message'].get('payload', {}).get('stack_name'),))


def decrypted(text):
    """What Heat has encrypted with the lab's key; None for a text that it has not."""
    try:
        return CIPHER.decrypt(text.encode()).decode()
    except (fernet.InvalidToken, AttributeError):
        return None


def by_name(items, name):
    """Stable: what happened to one keeps its order, what happened to different ones has none."""
    return sorted(items, key=lambda item: tuple(map(str, name(item))))


def identity(row):
    keys = ('id',) if 'id' in row else ('entity_id', 'traversal_id', 'is_update') if 'entity_id' in row else ('stack_id',)
    return row['id'] if keys == ('id',) else tuple(row[key] for key in keys)


def canonical(value):
    return json.dumps(value, sort_keys=True, default=str)
