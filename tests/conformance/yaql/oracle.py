"""Evaluates expressions as Heat does: cases come as JSON, a line each, and outcomes go the same way.

A case has `expression`, and may have `data`, `limits` (`iterators`, `memory`) and `now` (microseconds since 1970). An
outcome is `ok` with the value, written so that nothing of its Python type is lost, or `error` with class and message.
"""

import collections.abc
import datetime
import json
import re
import sys
import types
import warnings

import dateutil.parser._parser
from yaql.standard_library import date_time
import yaql

warnings.simplefilter('ignore')
NOW = 1790000000000000
ADDRESS = re.compile(r' at 0x[0-9a-f]+')


def frozen_clock(microseconds):
    """Makes it the same moment for everything that asks Python what time it is."""
    moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(microseconds=microseconds)

    class Kind(type):
        def __instancecheck__(cls, value):
            return isinstance(value, datetime.datetime)

    class Frozen(metaclass=Kind):
        fromtimestamp = datetime.datetime.fromtimestamp
        strptime = datetime.datetime.strptime

        def __new__(cls, *args, **kwargs):
            return datetime.datetime(*args, **kwargs)

        @staticmethod
        def now(tz=None):
            return moment.replace(tzinfo=None) if tz is None else moment.astimezone(tz)

    date_time.DATETIME_TYPE = Frozen
    dateutil.parser._parser.datetime = types.SimpleNamespace(datetime=Frozen, tzinfo=datetime.tzinfo)
    dateutil.parser._parser.DEFAULTPARSER.info._year = moment.year
    dateutil.parser._parser.DEFAULTPARSER.info._century = moment.year // 100 * 100


def encoded(value):
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return ADDRESS.sub('', value)
    if isinstance(value, (int, float)):
        return {'number': repr(value)}
    if type(value) in (list, tuple):
        return {type(value).__name__: [encoded(item) for item in value]}
    if isinstance(value, collections.abc.Mapping):
        return {'dict': [[encoded(key), encoded(item)] for key, item in value.items()]}
    if isinstance(value, (set, frozenset)):
        items = [json.dumps(encoded(item), ensure_ascii=False, separators=(',', ':')) for item in value]
        # Only the order of numbers is the same in every process.
        return {'set': items if all(isinstance(item, (int, float)) for item in value) else sorted(items)}
    return {'other': ADDRESS.sub('', str(value))}



ENGINES = {}
CONTEXT = yaql.create_context()


def evaluated(case):
    limits = case.get('limits') or {}
    options = {'yaql.limitIterators': limits.get('iterators', 200), 'yaql.memoryQuota': limits.get('memory', 10000)}
    key = tuple(options.values())
    if key not in ENGINES:
        ENGINES[key] = yaql.YaqlFactory().create(options)
    frozen_clock(case.get('now') or NOW)
    try:
        statement = ENGINES[key](case['expression'])
        return {'ok': encoded(statement.evaluate({'data': case.get('data')}, CONTEXT.create_child_context()))}
    except Exception as error:
        return {'error': [type(error).__name__, ADDRESS.sub('', str(error))]}


def main():
    for line in sys.stdin:
        print(json.dumps(evaluated(json.loads(line))), flush=True)


if __name__ == '__main__':
    main()
