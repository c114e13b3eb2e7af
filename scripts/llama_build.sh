# How llama.cpp is compiled: sourced before pip by the Makefile and scripts/install.sh, and by anybody who installs by hand.
#
# Its AMX kernels crash while a model loads when GCC 12 has compiled them (Debian 12's own): its header says that
# _tile_loadconfig reads 8 bytes of 64, and the stores of the others are optimised away (ggml-org/llama.cpp#20824).
# Without this macro they are left out. Unlike -mno-amx-int8 it is understood by every compiler, on every architecture.
# All other kernels stay, the repacked ones for AVX-512 and VNNI among them.
export CFLAGS="${CFLAGS:-} -U__AMX_INT8__" CXXFLAGS="${CXXFLAGS:-} -U__AMX_INT8__"
# Only text is translated here: the part of llama.cpp for pictures and sound need not be compiled.
export CMAKE_ARGS="-DLLAVA_BUILD=OFF ${CMAKE_ARGS:-}"
# Nor what its own programs share: 53 of 127 files. pip splits CMAKE_ARGS at spaces, so in a folder with one it is compiled.
llama_build=$(cd "$(dirname "${BASH_SOURCE:-scripts/llama_build.sh}")" 2>/dev/null && pwd || true)/llama_build.cmake
case $llama_build in
*" "*) ;;
*) if [ -f "$llama_build" ]; then export CMAKE_ARGS="-DCMAKE_PROJECT_llama.cpp_INCLUDE=$llama_build $CMAKE_ARGS"; fi ;;
esac
unset llama_build
