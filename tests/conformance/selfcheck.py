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


def in_reply(edit):
    def change(lines):
        return any(edit(part) for _, part in lines if isinstance(part, dict) and isinstance(part.get('body'), dict))
    return change


def change_status(reply):
    reply['status'] = 299
    return True


def swap_keys(value):
    """Of the first object that has several."""
    if isinstance(value, dict) and len(value) > 1:
        first = next(iter(value))
        value[first] = value.pop(first)
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(swap_keys, inner))


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
    'a status code': in_reply(change_status),
    'the order of keys in a reply': in_reply(lambda reply: swap_keys(reply['body'])),
    'a request less': lambda lines: lines.pop(0),
}


def blind_spots(lines):
    """What the comparison would not report; a change that this record has no place for is such a spot too."""
    spots = []
    if compare.compare(lines, copy.deepcopy(lines)):
        spots.append('that a record equals itself')
    for name, change in CHANGES.items():
        changed = copy.deepcopy(lines)
        if not change(changed) or not compare.compare(lines, changed):
            spots.append(name)
    return spots
