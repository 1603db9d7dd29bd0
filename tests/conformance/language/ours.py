"""Our side of comparisons and measurements: an example of the crate, built when it is needed."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]


def example(name, built=None, profile='release'):
    """The program; `built`: where it is already."""
    if built:
        return built
    subprocess.run(['cargo', 'build', '--locked', '--quiet', '--profile', profile, '--example', name], cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get('CARGO_TARGET_DIR', ROOT / 'target'))
    return target / {'dev': 'debug'}.get(profile, profile) / 'examples' / name
