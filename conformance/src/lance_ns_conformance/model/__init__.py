"""The contract as a small model in memory, and operations that are played on it and on a backend at once.

`Comparison` plays one operation after the other and compares every answer. `ModelSuite` lets hypothesis choose the
operations; the files in `sequences/` hold some that were chosen once, and run as scenarios in every mode.
"""

from lance_ns_conformance.model.comparison import Comparison
from lance_ns_conformance.model.contract import Model
from lance_ns_conformance.model.suite import ModelSuite

__all__ = ["Comparison", "Model", "ModelSuite"]
