"""The same run without the page: a Python script and the shell commands, ready to paste."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from proxycal.reading.options import Reading
from proxycal.report.shell import changed, role_options, setting_options, shell

if TYPE_CHECKING:
    from proxycal.app.request import Request

# How the example is made.
_EXAMPLE = """from proxycal.testing.example import biased_weights
biased_weights(alpha={alpha}).table.to_csv({name!r}, index=False)"""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table came from: its owner's name for it, and the size of the bias if it is our example.

    reading : how its file is read.
    """

    name: str
    example_alpha: float | None = None
    reading: Reading = field(default_factory=Reading)

    @property
    def said(self) -> dict[str, object]:
        """What was said of how it is read."""
        values = {one.name: getattr(self.reading, one.name) for one in fields(Reading)}
        return {name: value for name, value in values.items() if value not in (None, ())}


def python_script(source: Source, request: Request) -> str:
    """A script that reproduces the calibrated table and the report."""
    roles = request.roles
    named = [f"    {role}={value!r}," for role, value in roles.to_dict().items() if value is not None]
    options = "".join(f", {name}={value!r}" for name, value in changed(request.settings).items())
    kept = f", text={list(roles.text)!r}" if roles.text else ""
    kept += "".join(f", {name}={value!r}" for name, value in source.said.items())
    lines = [
        "import proxycal as pc",
        "",
        *_prepare(source),
        f"table = pc.read_table({source.name!r}{kept})",
        "roles = pc.Roles(",
        *named,
        ")",
        f"model = pc.ProxyCalibrator(roles{options}).fit(table)",
        "print(model.verdict_, model.alpha_, model.alpha_interval_)",
        "",
        *([f"print(model.power(repetitions={request.repetitions}))"] if request.repetitions else []),
        'model.save("run")',
        f'pc.calibrate_files("run", [{source.name!r}], "calibrated.csv")',
        'model.report("report.html")',
    ]
    return "\n".join(lines) + "\n"


def shell_commands(source: Source, request: Request) -> str:
    """Commands that reproduce the run folder, the calibrated table and the report."""
    fit = ["proxycal", "fit", _operand(source.name)]
    asked = role_options(request.roles) | setting_options(request.settings)
    fit += [f"{option}={value}" for option, value in asked.items()]
    lines = (
        [shell("python", "-c", "import proxycal as pc\n" + "\n".join(preparation))]
        if (preparation := _prepare(source))
        else []
    )
    reading = [f"--{name.replace('_', '-')}={value}" for name, value in source.said.items()]
    lines.append(shell(*fit, *reading, "--out=run"))
    lines.append(
        shell("proxycal", "calibrate", "run", _operand(source.name), "--out", "calibrated.csv", *reading)
    )
    if request.repetitions:
        lines.append(shell("proxycal", "power", "run", "--repetitions", request.repetitions))
        lines.append(shell("proxycal", "report", "run"))
    return "\n".join(lines) + "\n"


def _prepare(source: Source) -> list[str]:
    """Python that makes the file to read, where that is not the owner's own."""
    if source.example_alpha is not None:
        return _EXAMPLE.format(alpha=source.example_alpha, name=source.name).splitlines()
    return []


def _operand(name: str) -> str:
    """A file name that no program takes for an option."""
    return f"./{name}" if name.startswith("-") else name
