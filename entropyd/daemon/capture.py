"""`entropyd capture`: raw samples of one device into a file, while the daemon is stopped.

The tap is the first place there is: what `Device.read` returned, unchanged and
in order, before tests, credit or anything else has seen it. And it is the only
place those samples go: nothing is dealt while the state directory is held
here, and a device delivers each of its bits once. So no sample is both in a
file and in a seed.

A fault of the device ends the capture without a file: samples on either side
of a gap are not consecutive, and assessments ask for consecutive ones.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from entropyd.config import Config
from entropyd.daemon.sources import SourcePlan, plan_sources
from entropyd.entropy.capture import CaptureHeader, CaptureSum
from entropyd.entropy.source import Device
from entropyd.errors import ConfigError, RequestError
from entropyd.ledger.state_dir import StateDirectory, sync_directory

MIN_SAMPLES = 1
# A terabyte: two days of the fastest card.
MAX_SAMPLES = 10**12


def capture_samples(
    config: Config,
    source_id: str,
    samples: int,
    path: Path,
    *,
    utc: Callable[[], str],
    bare: bool = False,
) -> str:
    """Write at least `samples` samples, whole reads, into a new file. Return what was done.

    Args:
        config: names the source and holds its state directory.
        source_id: which source.
        samples: how many are wanted; rounded up to whole reads of the device.
        path: must not exist yet.
        utc: the time as RFC 3339 in whole seconds.
        bare: the samples alone, as assessment tools want them; nothing then shows a file cut off.

    Raises:
        ConfigError: there is no such source, or the file is there already or cannot be written.
            No file is left behind.
        LedgerConflictError: the daemon runs.
        SourceError: the device is absent or had a fault. No file is left behind.
        RequestError: that many samples cannot be captured.
    """
    if not MIN_SAMPLES <= samples <= MAX_SAMPLES:
        raise RequestError("samples", f"is {samples}; expected {MIN_SAMPLES} to {MAX_SAMPLES}")
    plans = {plan.info.source_id: plan for plan in plan_sources(config)}
    if source_id not in plans:
        raise ConfigError(f"no source {source_id!r}; expected one of {', '.join(sorted(plans))}")
    with StateDirectory.hold(config.node.state_dir):
        device = plans[source_id].driver.open()
        try:
            written = _write(plans[source_id], device, samples, path, created=utc(), bare=bare)
        finally:
            device.close()
    return (
        f"{path}: {written} samples of {source_id}, serial {device.serial}; they are spent, and"
        " whoever has the file knows them"
    )


def _write(
    plan: SourcePlan, device: Device, samples: int, path: Path, *, created: str, bare: bool
) -> int:
    """Write a file that exists whole or not at all, and return how many samples are in it."""
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        if path.exists():
            raise FileExistsError(0, "it exists already; name another file")
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as file:
                written = write_capture(plan, device, samples, file, created, bare=bare)
                file.flush()
                os.fsync(descriptor)
            # If we die before the rename there is no capture, only what says that it is unfinished.
            unfinished.rename(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)
    except OSError as error:
        raise ConfigError(
            f"capture {path}: cannot be written ({error.strerror}), and no file is left; free room"
            " or name a file elsewhere"
        ) from error
    return written


def write_capture(
    plan: SourcePlan,
    device: Device,
    samples: int,
    file: BinaryIO,
    created: str,
    *,
    bare: bool = False,
) -> int:
    """Write header, at least `samples` samples in whole reads, and trailer; return how many.

    A bare file has neither header nor trailer.

    Raises:
        OSError: the file takes no more. What is in it has no trailer, and is no capture.
        SourceError: the device had a fault. The same holds.
    """
    block = device.read()
    header = CaptureHeader(
        driver=plan.info.driver,
        serial=device.serial,
        kind=plan.info.kind,
        sample_bits=plan.info.sample_bits,
        block_bytes=len(block),
        claimed_millibits=plan.info.claimed_millibits,
        created=created,
    ).encode()
    if not bare:
        file.write(header)
    whole = CaptureSum(header)
    written = 0
    while True:
        file.write(block)
        whole.update(block)
        written += len(block)
        if written >= samples:
            break
        block = device.read()
    if not bare:
        file.write(whole.trailer())
    return written
