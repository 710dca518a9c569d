"""The type of a question's vector, apart from the other types: clients of the service import those without NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

QuestionVector = NDArray[np.float32]
"""The embedding of a question, of unit length; shape (dimensions,)."""
