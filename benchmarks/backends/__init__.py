"""The backends that are measured."""

from benchmarks.backends.base import Adapter
from benchmarks.backends.dir import Dir
from benchmarks.backends.glue import Glue
from benchmarks.backends.hive3 import Hive3
from benchmarks.backends.iceberg import Iceberg
from benchmarks.backends.polaris import Polaris
from benchmarks.backends.unity import Unity

ADAPTERS: dict[str, Adapter] = {
    adapter.backend: adapter for adapter in (Iceberg(), Polaris(), Unity(), Hive3(), Glue(), Dir())
}
