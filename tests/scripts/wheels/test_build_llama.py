"""The wheels of llama-cpp-python, and how they are made and installed."""

from __future__ import annotations

import base64
import csv
import hashlib
import platform
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts.wheels.build_llama import PIN, VARIANTS, choose_variants, difference
from tests.support.paths import ROOT

FOLDER = ROOT / "wheels"
WHEELS = sorted(FOLDER.glob("*.whl"))
HERE = [wheel for wheel in WHEELS if wheel.stem.endswith(platform.machine())]


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "lock", sorted(ROOT.glob("requirements*.lock")), ids=lambda lock: lock.name
)
def test_a_lock_has_the_hashes_of_the_wheels_and_of_the_source(lock: Path) -> None:
    text = lock.read_text("utf-8")
    assert "://" not in text, "no addresses"
    if found := PIN.search(text):
        hashes = set(re.findall(r"sha256:(\w+)", found[0]))
        assert all(wheel.name.startswith(f"llama_cpp_python-{found[1]}-") for wheel in WHEELS)
        assert {sha256(wheel) for wheel in WHEELS} < hashes
        assert len(hashes) == len(WHEELS) + 1


def test_pip_is_shown_the_wheels_with_their_hashes() -> None:
    listed = re.findall(r'href="(.+?)#sha256=(\w+)"', (FOLDER / "index.html").read_text("utf-8"))
    assert listed == [(wheel.name, sha256(wheel)) for wheel in WHEELS]


@pytest.mark.parametrize("wheel", WHEELS, ids=lambda wheel: wheel.stem[-7:])
def test_a_wheel_is_whole_small_and_licensed(wheel: Path) -> None:
    assert wheel.stat().st_size < 20e6
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert list(files) == sorted(files)
    (record,) = (name for name in files if name.endswith("/RECORD"))
    for name, digest, _ in csv.reader(files.pop(record).decode().splitlines()):
        if digest:
            made = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest())
            assert digest == "sha256=" + made.decode().rstrip("=")
    licences = {Path(name).name for name in files if "/licenses/" in name}
    assert licences >= {"llama-cpp-python.md", "llama.cpp.txt", "llvm-libcxx.txt", "zig.txt"}
    libraries = {Path(name).stem for name in files if name.endswith(".so")}
    assert libraries > {"libllama", "libggml", "libggml-base"}
    if "x86_64" in wheel.stem:
        assert {f"libggml-cpu-{variant}" for variant in VARIANTS} < libraries
    assert not [name for name, data in files.items() if b"/llama-wheels-" in data], "a path"


def test_variants_that_little_is_won_by_are_left_out(tmp_path: Path) -> None:
    settings = tmp_path / "CMakeLists.txt"
    lines = [
        "function(ggml_add_cpu_backend_variant tag_name)\n",
        "    ggml_add_cpu_backend_variant(x64)\n",
        "    ggml_add_cpu_backend_variant(haswell            SSE42 AVX)\n",
        "    ggml_add_cpu_backend_variant(sapphirerapids SSE42 AMX_INT8)\n",
        "    ggml_add_cpu_backend_variant(armv8.2_2    DOTPROD)\n",
        "    ggml_add_cpu_backend_variant(armv8.2_3    DOTPROD SVE)\n",
    ]
    settings.write_text("".join(lines))
    choose_variants(settings)
    assert settings.read_text() == "".join([*lines[:3], lines[4]])


def test_a_wheel_that_differs_is_told_by_its_files(tmp_path: Path) -> None:
    kept, made = tmp_path / "kept.whl", tmp_path / "made.whl"
    assert difference(kept, made) == "kept.whl is not in wheels/"
    for wheel, data, level in ((kept, "one" * 99, 9), (made, "one" * 99, 0)):
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
            archive.writestr(zipfile.ZipInfo("a"), data, zipfile.ZIP_DEFLATED, level)
    assert difference(kept, kept) == ""
    assert "its compression only" in difference(kept, made)
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr("b", "two")
    assert difference(kept, made) == "kept.whl differs in b"


@pytest.mark.slow
@pytest.mark.skipif(not HERE, reason="there is no wheel for this machine")
def test_it_is_installed_without_a_compiler_and_writes_a_caption(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    found = PIN.search((ROOT / "requirements.lock").read_text("utf-8"))
    assert found
    (tmp_path / "lock").write_text(found[0])
    # Nothing else is installed: dependencies come from this environment, after the venv's own.
    places = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    Path(places, "rest.pth").write_text("\n".join([*filter(None, sys.path), str(ROOT)]))
    alone = {"PATH": str(tmp_path / "nothing"), "HOME": str(tmp_path)}
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--require-hashes",
         "--ignore-installed", "--find-links", str(FOLDER / "index.html"), "-r", tmp_path / "lock"],
        env=alone, check=True,
    )  # fmt: skip
    code = (
        "import llama_cpp; from pipeline.engines.llama_cpp.gemma import Gemma;"
        "from pipeline.models.resolve import resolve;"
        "gemma = Gemma(resolve('gemma', 'starter'), threads=1); gemma.load();"
        "print(llama_cpp.__file__); print(gemma.translate('The Lord is my shepherd.').text)"
    )
    lines = subprocess.run(
        [python, "-c", code], cwd=tmp_path, env=alone, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert Path(lines[-2]).is_relative_to(tmp_path)
    assert "pastor" in lines[-1]
