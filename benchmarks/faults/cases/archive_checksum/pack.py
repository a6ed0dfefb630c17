# drawn from: the class "a checksum of an archive": tar and gzip keep times, so the bytes differ though the files do not
import hashlib
import io
import tarfile
import time

import numpy as np


def pack(path, count=40):
    """Write the masks into a compressed archive."""
    with tarfile.open(path, "w:gz") as archive:  # fault: clock
        for number in range(count):
            yy, xx = np.mgrid[:16, :16]
            cy, cx, r = 4 + number % 8, 4 + number // 8, 2 + number % 3
            mask = ((yy - cy) ** 2 + (xx - cx) ** 2 < r * r).astype(np.uint8)
            info = tarfile.TarInfo(f"{number:03d}.bin")
            info.size, info.mtime = mask.size, time.time()  # fault: clock
            archive.addfile(info, io.BytesIO(mask.tobytes()))


def unpack(path):
    with tarfile.open(path) as archive:
        return np.stack([np.frombuffer(archive.extractfile(m).read(), np.uint8).reshape(16, 16) for m in archive])


def version_of(path):
    """A number that changes when the data does: for the split."""
    digest = hashlib.sha256(open(path, "rb").read())  # fault: clock
    return int(digest.hexdigest()[:8], 16)
