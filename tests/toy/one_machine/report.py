"""What a report says beside the usual: tables by what has to be early."""

from dataclasses import replace

from boundmark.reports.default import DEFAULT
from boundmark.reports.problem_report import Grouping

REPORT = replace(DEFAULT, grouping=Grouping("goal", "what has to be early"))
