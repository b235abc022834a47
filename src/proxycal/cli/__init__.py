"""The command line: parse, call, print."""

from proxycal.cli.commands import app as app
from proxycal.cli.commands import main as main
