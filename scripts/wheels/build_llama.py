"""Builds the wheels of llama-cpp-python in `wheels/`: Linux, x86-64 and 64-bit ARM, glibc 2.28.

Run by `make wheels` and `make wheels-check`. The source is the one that requirements.lock pins;
Zig, which comes as a Python package, is the compiler. Each wheel has llama.cpp's kernels for
several kinds of CPU, and llama.cpp takes the best when it starts. The same source gives the same
bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Final

from scripts.support.paths import ROOT

PIN: Final = re.compile(r"^llama-cpp-python==([\d.]+)(.*\\\n)*.*\n", re.MULTILINE)
MACHINES: Final = ("x86_64", "aarch64")
GLIBC: Final = (2, 28)
MTIME: Final = (2026, 1, 1, 0, 0, 0)
# The variants of llama.cpp that gain much speed; a CPU in between takes the next older one. x64
# runs on every PC, sse42 on PCs from 2008, haswell (AVX2) from 2013, alderlake (VNNI) on an N100
# and similar CPUs, icelake with AVX-512. None uses AMX: some compilers make AMX kernels that crash
# (scripts/llama_build.sh). The ARM variants are for the Pi 4, the Pi 5 and servers.
VARIANTS: Final = ("x64", "sse42", "haswell", "alderlake", "icelake")
VARIANTS_ARM: Final = ("armv8.0_1", "armv8.2_2", "armv8.6_1")
LIBRARIES: Final = ("libllama.so", "libggml.so", "libggml-base.so", "libggml-cpu-*.so")
SETTINGS: Final = {
    "BUILD_SHARED_LIBS": "ON",
    "CMAKE_BUILD_TYPE": "Release",
    "CMAKE_BUILD_WITH_INSTALL_RPATH": "ON",
    "CMAKE_INSTALL_RPATH": "$ORIGIN",
    # A wheel has no symbolic links: libggml.so.0 would be a copy with its own list of kernels.
    "CMAKE_PLATFORM_NO_VERSIONED_SONAME": "ON",
    "CMAKE_SHARED_LINKER_FLAGS": "-s",
    "CMAKE_MODULE_LINKER_FLAGS": "-s",
    "CMAKE_SYSTEM_NAME": "Linux",
    "GGML_BACKEND_DL": "ON",
    "GGML_CPU_ALL_VARIANTS": "ON",
    "GGML_NATIVE": "OFF",
    "GGML_OPENMP": "OFF",
    "LLAMA_BUILD_COMMON": "OFF",
    "LLAMA_OPENSSL": "OFF",
}
# Zig has its own names for the values of -march: armv8.2-a+fp16 is generic+v8_2a+fullfp16.
WRAPPER: Final = """#!/bin/sh
for argument; do
  shift
  case $argument in
  -march=armv8-a) ;;
  -march=armv*) set -- "$@" "-mcpu=$(printf '%s' "$argument" |
    sed 's/-march=armv\\([0-9]*\\)\\.\\([0-9]*\\)-a/generic+v\\1_\\2a/; s/+fp16/+fullfp16/')" ;;
  *) set -- "$@" "$argument" ;;
  esac
done
exec @ZIG@ @TOOL@ "$@"
"""


def main() -> None:
    """Build wheels, or compare them with the existing ones. Exits with 1 if they differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("machines", nargs="*", default=MACHINES, metavar="MACHINE")
    parser.add_argument("--check", action="store_true", help="compare with `wheels/`, byte by byte")
    parser.add_argument(
        "--pin", action="store_true", help="only put the wheels that are there in the locks"
    )
    options = parser.parse_args()
    kept = ROOT / "wheels"
    if options.pin:
        pin(kept)
        return
    with tempfile.TemporaryDirectory(prefix="llama-wheels-") as folder:
        work = Path(folder)
        source = unpack(work)
        made = [build(source, work, machine) for machine in options.machines]
        if options.check:
            sys.exit("\n".join(difference(kept / wheel.name, wheel) for wheel in made).strip() or 0)
        kept.mkdir(exist_ok=True)
        for wheel in made:
            (kept / wheel.name).write_bytes(wheel.read_bytes())
    pin(kept)


def unpack(work: Path) -> Path:
    """Fetch the source that requirements.lock pins and check its hash; return its folder."""
    (work / "requirement.txt").write_text(pinned()[0], encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--no-build-isolation", "--no-binary", "llama-cpp-python", "--dest", str(work)]
    subprocess.run([*command, "--requirement", str(work / "requirement.txt")], check=True)
    (archive,) = work.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(work, filter="data")
    source = work / archive.name.removesuffix(".tar.gz")
    choose_variants(source / "vendor/llama.cpp/ggml/src/CMakeLists.txt")
    return source


def choose_variants(settings: Path) -> None:
    """Remove the unwanted variants from llama.cpp's list."""
    wanted = "|".join(map(re.escape, (*VARIANTS, *VARIANTS_ARM)))
    other = re.compile(rf"^ *ggml_add_cpu_backend_variant\((?!({wanted})[ )]).*\n", re.MULTILINE)
    settings.write_text(other.sub("", settings.read_text("utf-8")), encoding="utf-8")


def build(source: Path, work: Path, machine: str) -> Path:
    """Compile llama.cpp for a kind of machine and return its wheel."""
    tools = work / machine
    tools.mkdir()
    target = f"{machine}-linux-gnu.{GLIBC[0]}.{GLIBC[1]}"
    flags = f"-target {target} -ffile-prefix-map={work}=."
    for name, tool in (("cc", f"cc {flags}"), ("c++", f"c++ {flags}"), ("ar", "ar")):
        script = WRAPPER.replace("@ZIG@", shlex.quote(str(zig() / "zig"))).replace("@TOOL@", tool)
        (tools / name).write_text(script, encoding="utf-8")
        (tools / name).chmod(0o755)
    settings = {
        **SETTINGS,
        "CMAKE_SYSTEM_PROCESSOR": machine,
        "CMAKE_C_COMPILER": str(tools / "cc"),
        "CMAKE_CXX_COMPILER": str(tools / "c++"),
        "CMAKE_AR": str(tools / "ar"),
    }
    folder = work / f"build-{machine}"
    given = [f"-D{name}={value}" for name, value in settings.items()]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "ZIG_GLOBAL_CACHE_DIR": str(work / "zig"),
        "ZIG_LOCAL_CACHE_DIR": str(work / "zig"),
        # Otherwise the commit of a surrounding repository is written into the library.
        "GIT_DIR": str(work / "none"),
    }
    for flag in ("CFLAGS", "CXXFLAGS", "LDFLAGS", "CMAKE_ARGS"):
        environment.pop(flag, None)
    for command in (
        ["cmake", "-G", "Ninja", "-S", str(source / "vendor/llama.cpp"), "-B", str(folder), *given],
        ["cmake", "--build", str(folder), "--target", "llama", "--parallel", str(os.cpu_count())],
    ):
        subprocess.run(command, check=True, env=environment)
    return pack(source, folder / "bin", work, machine)


def pack(source: Path, built: Path, work: Path, machine: str) -> Path:
    """Write the wheel with sorted files and one timestamp, so that only its content matters."""
    libraries = [file for name in LIBRARIES for file in built.glob(name)]
    files = {f"llama_cpp/lib/{file.name}": file.read_bytes() for file in libraries}
    for file in (source / "llama_cpp").rglob("*"):
        if file.suffix in {".py", ".typed"}:
            files[str(file.relative_to(source))] = file.read_bytes()
    name = source.name
    info = f"{name}.dist-info"
    tag = f"py3-none-manylinux_{GLIBC[0]}_{GLIBC[1]}_{machine}"
    files[f"{info}/METADATA"] = (source / "PKG-INFO").read_bytes()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: stark-translate\nRoot-Is-Purelib: false\nTag: {tag}\n"
    ).encode()
    for path, text in licences(source).items():
        files[f"{info}/licenses/{path}"] = text
    wheel = work / f"{name}-{tag}.whl"
    write_wheel(wheel, files)
    return wheel


def write_wheel(wheel: Path, files: dict[str, bytes]) -> None:
    """Write a wheel of these files, by path, with the list of their hashes (RECORD)."""
    (info,) = (path[:-6] for path in files if re.fullmatch(r"[^/]+\.dist-info/WHEEL", path))
    rows = [
        f"{path},sha256={urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n"
        for path, data in sorted(files.items())
    ]
    files = files | {f"{info}/RECORD": "".join([*rows, f"{info}/RECORD,,\n"]).encode()}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data in sorted(files.items()):
            entry = zipfile.ZipInfo(path, MTIME)
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def licences(source: Path) -> dict[str, bytes]:
    """Return the licences of all parts of a wheel, by name."""
    llama = source / "vendor/llama.cpp"
    sgemm = (llama / "ggml/src/ggml-cpu/llamafile/sgemm.cpp").read_text(encoding="utf-8")
    return {
        "llama-cpp-python.md": (source / "LICENSE.md").read_bytes(),
        "llama.cpp.txt": (llama / "LICENSE").read_bytes(),
        "llama.cpp-authors.txt": (llama / "AUTHORS").read_bytes(),
        "llamafile-sgemm.txt": sgemm.partition("\n\n")[0].encode(),
        # The compiler links in code from its own package.
        "zig.txt": (zig() / "LICENSE").read_bytes(),
        **{
            f"llvm-{part}.txt": (zig() / "lib" / part / "LICENSE.TXT").read_bytes()
            for part in ("libcxx", "libcxxabi", "libunwind")
        },
    }


def difference(kept: Path, made: Path) -> str:
    """Return how a new wheel differs from the kept one, or "" if they are equal."""
    if not kept.exists():
        return f"{kept.name} is not in wheels/"
    if kept.read_bytes() == made.read_bytes():
        print(f"{kept.name}: the same bytes")
        return ""
    with zipfile.ZipFile(kept) as old, zipfile.ZipFile(made) as new:
        contents = [{name: each.read(name) for name in each.namelist()} for each in (old, new)]
    paths = sorted(set().union(*contents))
    other = [path for path in paths if contents[0].get(path) != contents[1].get(path)]
    return f"{kept.name} differs in {', '.join(other) or 'its compression only (another zlib)'}"


def pin(folder: Path) -> None:
    """List the wheels with their hashes, and put the hashes into all locks beside the source's.

    pip needs the list: it prefers the source to a file without a hash.
    """
    found = pinned()
    wheels = sorted(folder.glob(f"llama_cpp_python-{found[1]}-*.whl"))
    for other in set(folder.glob("*.whl")).difference(wheels):
        other.unlink()
    digests = {wheel.name: hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels}
    links = [
        f'<a href="{name}#sha256={digest}">{name}</a><br>\n' for name, digest in digests.items()
    ]
    old = folder / "index.html"
    listed = re.findall(r"sha256=(\w+)", old.read_text("utf-8")) if old.exists() else []
    source = set(re.findall(r"sha256:(\w+)", found[0])).difference(listed, digests.values())
    lines = [f"    --hash=sha256:{digest}" for digest in sorted({*source, *digests.values()})]
    lines = [f"llama-cpp-python=={found[1]}", *lines]
    text = " \\\n".join(lines) + "\n"
    for lock in ROOT.glob("requirements*.lock"):
        lock.write_text(PIN.sub(lambda _: text, lock.read_text("utf-8")), encoding="utf-8")
    old.write_text("<!DOCTYPE html>\n<title>Wheels</title>\n" + "".join(links), encoding="utf-8")
    for wheel in wheels:
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")


def pinned() -> re.Match[str]:
    """Return the lines of requirements.lock; group 1 is the version."""
    found = PIN.search((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    return found or sys.exit("requirements.lock has no llama-cpp-python")


def zig() -> Path:
    """Return the folder of the compiler's package, which only `make wheels` installs."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        sys.exit("ziglang is not installed; run `make wheels`")
    return Path(spec.origin).parent


if __name__ == "__main__":
    main()
