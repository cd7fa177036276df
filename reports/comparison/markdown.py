"""A comparison as Markdown, for terminals, logs and comments on changes."""

from collections.abc import Iterable, Sequence

from boundmark.reports.comparison.advice import PairedRatio
from boundmark.reports.comparison.compare import Comparison
from boundmark.reports.comparison.gates import Evidence, Finding
from boundmark.reports.pages.markdown import escaped
from boundmark.reports.stored.run_label import RunLabel
from boundmark.reports.text import MISSING, count

# Of each verdict; JSON has all of them.
MOST_SHOWN = 50

# Hexadecimal digits that tell documents apart.
SHORT = 12

HEADINGS = {
    "worse": "Worse",
    "changed": "Changed on purpose: methods whose version differs",
    "advice": "Advice",
    "better": "Better",
}


def render_comparison(comparison: Comparison) -> str:
    """Return the comparison as GitHub-flavoured Markdown."""
    lines = [
        f"# NEW is {comparison.outcome}"
        if comparison.compared or comparison.of("worse")
        else "# Nothing compared",
        "",
        escaped(comparison.sentence),
        "",
        _summary(comparison),
        "",
    ]
    for verdict, heading in HEADINGS.items():
        lines += _findings(heading, comparison.of(verdict))
    lines += _ratios(comparison.ratios)
    lines += ["## The two runs", ""]
    lines += _runs(comparison.base, comparison.new, comparison.base_path, comparison.new_path)
    lines += ["## Notes", "", *(f"- {escaped(note)}" for note in comparison.notes), ""]
    return "\n".join([*lines, escaped(comparison.sentence), ""])


def _summary(comparison: Comparison) -> str:
    worse, better = comparison.of("worse"), comparison.of("better")
    methods = sorted({finding.method for finding in worse if finding.method})
    named = f" (methods: {', '.join(methods)})" if methods else ""
    text = (
        f"{count(comparison.compared, 'task')} compared, of which {comparison.repeatable} did not "
        f"depend on the clock: {count(len(worse), 'finding')} worse{named}, {len(better)} better."
    )
    return escaped(text)


def _runs(base: RunLabel, new: RunLabel, base_path: str, new_path: str) -> Iterable[str]:
    rows = [
        ("path", base_path, new_path),
        ("started", base.started, new.started),
        ("commit", base.commit_text, new.commit_text),
        ("suites", ", ".join(base.suites), ", ".join(new.suites)),
        ("host", ", ".join(base.hosts), ", ".join(new.hosts)),
        ("CPU", ", ".join(base.cpus), ", ".join(new.cpus)),
    ]
    names = sorted({*base.libraries, *new.libraries})
    versions = [(name, base.libraries.get(name, ""), new.libraries.get(name, "")) for name in names]
    solvers = {*base.solvers, *new.solvers}
    rows += [row for row in versions if row[0] in solvers or row[1] != row[2]]
    return _table(("", "BASE", "NEW"), rows)


def _findings(heading: str, findings: Sequence[Finding]) -> Iterable[str]:
    if not findings:
        return []
    lines = [f"## {heading}", "", *map(_line, findings[:MOST_SHOWN])]
    if len(findings) > MOST_SHOWN:
        lines.append(f"- and {len(findings) - MOST_SHOWN} more")
    return [*lines, ""]


def _line(finding: Finding) -> str:
    text = f"{finding.subject}: {finding.sentence}{_documents(finding)}"
    return f"- **{escaped(finding.gate)}**: {escaped(text)}"


def _documents(finding: Finding) -> str:
    sides = [
        f"{name} {text}"
        for name, side in (("BASE", finding.base), ("NEW", finding.new))
        if side and (text := _document(side))
    ]
    return f" ({'; '.join(sides)})" if sides else ""


def _document(side: Evidence) -> str:
    parts = [f"task {side.task_id[:SHORT]}"]
    if side.solution:
        parts.append(f"solution {side.solution[:SHORT]}")
    if side.certificate:
        parts.append(f"certificate {side.certificate[:SHORT]}")
    return ", ".join(parts)


def _ratios(ratios: Sequence[PairedRatio]) -> Iterable[str]:
    if not ratios:
        return []
    rows = [
        (
            one.problem,
            one.method,
            one.what,
            str(one.instances),
            f"{one.ratio:.3f}",
            f"{one.low:.3f} to {one.high:.3f}" if one.low == one.low else MISSING,
        )
        for one in ratios
    ]
    head = ("problem", "method", "NEW / BASE of", "n", "geometric mean", "95 % interval")
    return ["## Ratios in the mean", "", *_table(head, rows)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *([escaped(cell) for cell in row] for row in rows)]
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]
