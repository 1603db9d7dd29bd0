"""Probes from directories of templates and environments as people write them."""
import os

SUFFIXES = ('.yaml', '.yml', '.template', '.json', '.env')
LARGEST = 1 << 20


def probes(directory):
    """Each file as a text, and as a template where it is one."""
    for path in sorted(path for path in directory.rglob('*') if path.suffix in SUFFIXES and path.is_file()):
        if path.stat().st_size > LARGEST:
            continue
        text = path.read_text(errors='replace')
        name = 'corpus %s' % os.path.relpath(path, directory)
        for form in ('template', 'environment'):
            yield 'corpus texts', {'kind': 'text', 'name': '%s (%s)' % (name, form), 'as': form, 'text': text}
        yield 'corpus templates', {'kind': 'file', 'name': name, 'text': text}
