"""Learning from streams that are read again after a crash, each row exactly once.

:class:`StreamModel` is a model file that knows how far into its sources it has learned. The
position is written in one step with the model, so after a crash the two always agree: a batch that
comes again is ignored, and none is lost. :func:`foreach_batch` is for Spark's structured streaming,
:func:`consume_kafka` for Kafka and :func:`consume_nats` for NATS JetStream.
"""

from __future__ import annotations

from ._stream_kafka import consume_kafka
from ._stream_model import StreamModel, StreamStep
from ._stream_nats import consume_nats
from ._stream_spark import foreach_batch

__all__ = ["StreamModel", "StreamStep", "consume_kafka", "consume_nats", "foreach_batch"]
