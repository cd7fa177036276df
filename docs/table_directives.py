"""Directives of the site that put tables of `docs/tables/site_tables.py` on a page.

`{dataset-table}`, `{graph-table} DATASET`, `{device-table}`, `{cluster-table}` have a table each;
`{true-cost-tables}` and `{true-stage-table}` have those of `docs/tables/true_costs.py`,
`{processor-table}` that of `docs/tables/processor_costs.py`;
`{column-tables} stored`, `reports` or `common` has the columns of files, with headings.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

sys.path.insert(0, str(Path(__file__).parent / "tables"))

import processor_costs
import site_tables
import true_costs
from citations import linked

COLUMNS = {
    "stored": site_tables.stored_tables,
    "reports": site_tables.report_tables,
    "common": site_tables.common_columns,
}


class TableDirective(Directive):
    """What a function returns as lines of Markdown; arguments of the directive are its own."""

    lines: Callable[..., list[str]]

    def run(self) -> list[nodes.Node]:
        """Return the table, or the sections."""
        lines = map(linked, type(self).lines(*self.arguments))
        text = StringList(list(lines), "declarations of the package")
        node = nodes.section()
        self.state.nested_parse(text, self.content_offset, node, match_titles=True)
        return node.children


class DatasetTable(TableDirective):
    """A row for each data set."""

    lines = staticmethod(site_tables.dataset_table)


class GraphTable(TableDirective):
    """A row for each graph of a data set."""

    required_arguments = 1
    lines = staticmethod(site_tables.graph_table)


class DeviceTable(TableDirective):
    """A row for each device."""

    lines = staticmethod(site_tables.device_table)


class ClusterTable(TableDirective):
    """A row for each cluster."""

    lines = staticmethod(site_tables.cluster_table)


class ColumnTables(TableDirective):
    """The columns of files."""

    required_arguments = 1
    lines = staticmethod(lambda which: COLUMNS[which]())


class TrueCostTables(TableDirective):
    """How far costs are from measured times."""

    lines = staticmethod(true_costs.tables)


class TrueStageTable(TableDirective):
    """How long stages take that were run."""

    lines = staticmethod(true_costs.stage_table)


class ProcessorTable(TableDirective):
    """How long the stages of partitions take on a processor."""

    lines = staticmethod(processor_costs.table)


def setup(app: Any) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("dataset-table", DatasetTable)
    app.add_directive("graph-table", GraphTable)
    app.add_directive("device-table", DeviceTable)
    app.add_directive("cluster-table", ClusterTable)
    app.add_directive("column-tables", ColumnTables)
    app.add_directive("true-cost-tables", TrueCostTables)
    app.add_directive("true-stage-table", TrueStageTable)
    app.add_directive("processor-table", ProcessorTable)
    return {"parallel_read_safe": True}
