"""Is the comparison blind? Changes one thing after the other in a real record; each must be reported."""
import copy

import compare


def in_rows(table, column, value):
    def change(lines):
        for _, part in lines:
            if isinstance(part, dict) and part.get(table):
                part[table][-1][column] = value
                return True
    return change


def in_list(label_end, edit):
    def change(lines):
        for label, part in lines:
            if label.endswith(label_end) and part:
                edit(part)
                return True
    return change


def first_reply(edit):
    def change(lines):
        for _, part in lines:
            if isinstance(part, dict) and isinstance(part.get('body'), dict):
                edit(part)
                return True
    return change


def swap_keys(mapping):
    first = next(iter(mapping))
    mapping[first] = mapping.pop(first)


CHANGES = {
    "a column's value": in_rows('event', 'resource_status_reason', 'changed'),
    'null instead of a time': in_rows('event', 'created_at', None),
    'a number as text': in_rows('resource', 'atomic_key', '2'),
    'JSON that Python would space otherwise': in_rows('raw_template', 'environment', {'not as json.dumps writes it': '{}'}),
    'a row more': in_list('rows at the end', lambda rows: rows['resource_data'].append({'key': 'more'})),
    'a row less': in_list('rows at the end', lambda rows: rows['event'].pop()),
    'events in another order': in_list('rows at the end', lambda rows: rows['event'].reverse()),
    'a frame less': in_list('frames', lambda frames: frames.pop()),
    'a key of a frame': in_list('frames', lambda frames: frames[0]['message'].update(more=None)),
    'a notification less': in_list('notifications', lambda notifications: notifications.pop()),
    'a status code': first_reply(lambda reply: reply.update(status=299)),
    'the order of keys in a reply': first_reply(lambda reply: swap_keys(reply['body'][next(iter(reply['body']))])),
    'a request less': lambda lines: lines.pop(0),
}


def blind_spots(lines):
    spots = []
    if compare.compare(lines, copy.deepcopy(lines)):
        spots.append('that a record equals itself')
    for name, change in CHANGES.items():
        changed = copy.deepcopy(lines)
        if not change(changed) or not compare.compare(lines, changed):
            spots.append(name)
    return spots
