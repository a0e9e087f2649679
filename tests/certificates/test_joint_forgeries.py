"""No forged joint certificate is accepted, and none is refused by anything but CertificateError."""

import numpy as np
import pytest

from loadstone.certificates import CertificateError

from .joint_forgery_kinds import leaves_room, object_forgeries
from .joint_kinds import PITPROPS, every_kind


@pytest.fixture(scope="module")
def certificates():
    return every_kind()


def is_refused(forge, data=PITPROPS):
    """Whether a forgery ends in a CertificateError, when it is made or when it is checked."""
    try:
        forge().verify(data)
    except CertificateError:
        return True
    return False


def test_what_is_forged_is_refused(certificates):
    count = 0
    for name, joint in certificates.items():
        joint.verify(PITPROPS)
        # Of what is optimal nothing more could be claimed.
        assert leaves_room(joint)
        for number, forge in enumerate(object_forgeries(joint)):
            assert is_refused(forge), f"{name}: forgery {number}"
            count += 1
    assert count > 500


def test_other_data_is_told_from_a_forgery(certificates):
    rng = np.random.default_rng(0)
    for joint in certificates.values():
        order = rng.permutation(13)
        for data in (
            PITPROPS[np.ix_(order, order)],
            PITPROPS * 1.001,
            np.eye(13),
            PITPROPS[:12, :12],
            rng.standard_normal((50, 13)),
            np.full((13, 13), np.nan),
            "pit props",
            None,
        ):
            with pytest.raises(CertificateError):
                joint.verify(data)
        with pytest.raises(CertificateError, match="another covariance"):
            joint.verify(PITPROPS * 1.001)
