"""One scale for the embeddings of any encoder.

Appendix F.3 gives learning rates but no scale of the inputs. Encoders differ in it: means of unit vectors vary by some
0.015 a dimension, on which the published epochs hardly move a classifier.
"""

import numpy as np
import numpy.typing as npt

Singles = npt.NDArray[np.float32]


def on_one_scale(train: Singles, *others: Singles) -> list[Singles]:
    """``train`` (n, d) and ``others`` moved by the train mean and divided by one factor, so that train varies by 1.

    One factor for all dimensions keeps their proportions. Embeddings that do not vary stay 0.
    """
    mean = train.mean(axis=0, dtype=np.float64)
    factor = float(np.sqrt(np.mean((train - mean) ** 2))) or 1.0
    return [((part - mean) / factor).astype(np.float32) for part in (train, *others)]
