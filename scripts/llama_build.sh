# How llama.cpp is compiled: sourced before pip by the Makefile and scripts/install.sh, and by anybody who installs by hand.
#
# Its AMX kernels crash while a model loads when GCC 12 has compiled them (Debian 12's own): its header says that
# _tile_loadconfig reads 8 bytes of 64, and the stores of the others are optimised away (ggml-org/llama.cpp#20824).
# Without this macro they are left out. Unlike -mno-amx-int8 it is understood by every compiler, on every architecture.
# All other kernels stay, the repacked ones for AVX-512 and VNNI among them.
export CFLAGS="${CFLAGS:-} -U__AMX_INT8__" CXXFLAGS="${CXXFLAGS:-} -U__AMX_INT8__"
# Only text is translated here: the part of llama.cpp for pictures and sound need not be compiled.
export CMAKE_ARGS="-DLLAVA_BUILD=OFF ${CMAKE_ARGS:-}"
