# Read inside llama.cpp's own project, where this is stronger than what llama-cpp-python forces from outside: the library does not
# need the code that llama.cpp's programs share (chat formats, command lines, an HTTP server), and Python never loads it.
set(LLAMA_BUILD_COMMON OFF)
