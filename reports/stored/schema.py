"""Columns of stored results and traces."""

import pyarrow as pa

VERSION = "2"
VERSION_KEY = b"boundmark_schema"

RESULTS = pa.schema(
    [
        pa.field("task_id", pa.string(), nullable=False),
        ("suite", pa.string()),
        pa.field("problem", pa.string(), nullable=False),
        pa.field("dataset", pa.string(), nullable=False),
        pa.field("instance", pa.string(), nullable=False),
        ("device", pa.string()),
        pa.field("instance_sha256", pa.string(), nullable=False),
        ("instance_params", pa.string()),
        ("nodes", pa.int64()),
        ("edges", pa.int64()),
        pa.field("method", pa.string(), nullable=False),
        pa.field("method_kind", pa.string(), nullable=False),
        ("method_version", pa.int64()),
        ("params", pa.string()),
        ("seed", pa.int64()),
        pa.field("status", pa.string(), nullable=False),
        ("status_detail", pa.string()),
        ("exit_code", pa.int64()),
        ("exit_signal", pa.int64()),
        ("stderr_tail", pa.string()),
        ("objective", pa.int64()),
        ("bound_certified", pa.int64()),
        ("bound_claimed", pa.float64()),
        ("bound_kind", pa.string()),
        ("solution_sha256", pa.string()),
        ("certificate_sha256", pa.string()),
        ("verify_seconds", pa.float64()),
        ("wall_seconds", pa.float64()),
        ("cpu_seconds", pa.float64()),
        ("peak_rss_bytes", pa.int64()),
        ("time_limit_seconds", pa.float64()),
        ("memory_limit_bytes", pa.int64()),
        ("threads", pa.int64()),
        pa.field("started_at", pa.timestamp("us", tz="UTC"), nullable=False),
        ("host", pa.string()),
        ("environment_sha256", pa.string()),
    ],
    metadata={VERSION_KEY: VERSION},
)

TRACES = pa.schema(
    [
        pa.field("task_id", pa.string(), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
    ],
    metadata={VERSION_KEY: VERSION},
)
