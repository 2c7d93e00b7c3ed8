"""What a healthy entropy source hands on: samples with the credit they had when they arrived.

A block is a value. The entropy source makes it, the reservoir cuts it up and
spends it; nobody changes it.
"""

from dataclasses import dataclass, field

# (source or user id, samples in the order of arrival)
SourceSamples = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class CreditedBlock:
    """Samples of one source that passed its health tests, with one credit for all of them.

    Attributes:
        source_id: the source they came from.
        samples: raw samples in the order of delivery, one byte each, at least
            one. Secret: they decide cards.
        millibits_per_sample: credit of each sample at arrival, in thousandths
            of a bit, above 0; the lower of claim and assessment, rounded down.
        arrived_ns: monotonic time at which the device delivered them, in
            nanoseconds.
    """

    source_id: str
    samples: bytes = field(repr=False)
    millibits_per_sample: int
    arrived_ns: int
