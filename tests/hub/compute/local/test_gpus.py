"""What nvidia-smi says, and what is offered of it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import Conflict
from prime_cli.hub.compute.machine import find_gpus, published_type, read_gpus, this_machine
from prime_cli.hub.compute.provider import PodSpec
from tests.helpers.local_pods import Here


@pytest.mark.parametrize(
    ("name", "mib", "published"),
    [
        ("NVIDIA H100 80GB HBM3", 81559, ("H100_80GB", 80, "SXM5")),
        ("NVIDIA H100 PCIe", 81559, ("H100_80GB", 80, "PCIe")),
        ("NVIDIA H100 NVL", 95830, None),
        ("NVIDIA H200", 143771, ("H200_141GB", 141, "SXM5")),
        ("NVIDIA B200", 183359, ("B200_180GB", 180, "SXM6")),
        ("NVIDIA B300 SXM6 AC", 275040, ("B300_262GB", 262, "SXM6")),
        ("NVIDIA A100-SXM4-80GB", 81920, ("A100_80GB", 80, "SXM4")),
        ("NVIDIA A100-SXM4-40GB", 40960, ("A100_40GB", 40, "SXM4")),
        ("NVIDIA A100 80GB PCIe", 81920, ("A100_80GB", 80, "PCIe")),
        ("NVIDIA A100-PCIE-40GB", 40960, ("A100_40GB", 40, "PCIe")),
        ("NVIDIA A10", 23028, ("A10_24GB", 24, "PCIe")),
        ("NVIDIA L40S", 46068, ("L40S_48GB", 48, "PCIe")),
        ("Tesla T4", 15360, ("T4_16GB", 16, "PCIe")),
        ("Tesla V100-SXM2-32GB", 32768, ("V100_32GB", 32, "SXM2")),
        ("NVIDIA GeForce RTX 4090", 24564, ("RTX4090_24GB", 24, "PCIe")),
        ("NVIDIA GeForce RTX 3080 Ti", 12288, ("RTX3080Ti_12GB", 12, "PCIe")),
        ("NVIDIA GeForce RTX 4060", 8188, None),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 16376, None),
        ("NVIDIA RTX A6000", 49140, ("A6000_48GB", 48, "PCIe")),
        ("NVIDIA RTX A2000 12GB", 12282, None),
        ("NVIDIA RTX 6000 Ada Generation", 49140, ("RTX6000Ada_48GB", 48, "PCIe")),
        ("Quadro RTX 6000", 24576, ("RTX6000_24GB", 24, "PCIe")),
        (
            "NVIDIA RTX PRO 6000 Blackwell Server Edition",
            97887,
            ("RTX_PRO_6000B_96GB", 96, "PCIe"),
        ),
        ("NVIDIA A100-SXM4-80GB", 10240, None),
    ],
)
def test_a_gpu_has_its_published_name_or_none(
    name: str, mib: int, published: tuple[str, int, str] | None
) -> None:
    assert published_type(name, mib / 1024) == published


def test_equal_gpus_are_one_offer_with_all_of_them(tmp_path: Path) -> None:
    gpus = read_gpus("0, NVIDIA H100 80GB HBM3, 81559\n1, NVIDIA H100 80GB HBM3, 81559\n")
    offer = this_machine(tmp_path, gpus).offer(taken=False)
    assert (offer.gpu_type, offer.gpu_count, offer.gpu_memory, offer.socket) == (
        "H100_80GB", 2, 80, "SXM5",
    )  # fmt: skip
    assert gpus.indices == ("0", "1")
    assert offer.prices.price == 0
    assert offer.stock_status == "Available"
    assert this_machine(tmp_path, gpus).offer(taken=True).stock_status == "Unavailable"


@pytest.mark.parametrize(
    "text",
    [
        "0, NVIDIA GeForce RTX 4060, 8188\n",
        "0, NVIDIA A10, 23028\n1, NVIDIA L4, 23034\n",
        "0, NVIDIA A10, [N/A]\n",
    ],
)
def test_gpus_without_a_published_name_are_named_and_not_offered(text: str, tmp_path: Path) -> None:
    gpus = read_gpus(text)
    offer = this_machine(tmp_path, gpus).offer(taken=False)
    assert (offer.gpu_type, offer.gpu_count, offer.gpu_memory) == ("CPU_NODE", 1, 0)
    assert text.split(", ")[1] in str(offer.vcpu.additional_info)


@given(st.text())
def test_whatever_nvidia_smi_says_is_read(text: str) -> None:
    read_gpus(text)


def test_without_an_answer_of_nvidia_smi_there_is_no_gpu(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put_nvidia_smi(here, monkeypatch, "echo 'NVIDIA-SMI has failed'; exit 9")
    assert find_gpus().indices == ()


def test_one_pod_has_the_gpus_alone(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    _put_nvidia_smi(here, monkeypatch, "printf '0, NVIDIA L4, 23034\\n1, NVIDIA L4, 23034\\n'")

    def order() -> PodSpec:
        (offer,) = here.provider.offers()
        return here.order(offer=offer)

    first = order()
    here.provider.start(first)
    here.wait(first.tag, "ACTIVE")
    assert here.ssh(first.tag, "echo $CUDA_VISIBLE_DEVICES").stdout == "0,1\n"
    here.provider.start(first)
    second = order()
    assert second.offer.stock_status == "Unavailable"
    with pytest.raises(Conflict):
        here.provider.start(second)
    here.provider.end(first.tag)
    here.provider.start(second)
    here.wait(second.tag, "ACTIVE")


def _put_nvidia_smi(here: Here, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    folder = here.provider.folder.parent / "bin"
    folder.mkdir(parents=True)
    (folder / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
