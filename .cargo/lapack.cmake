# Read before netlib LAPACK's own CMakeLists: the frames call dsyev and nothing else.
set(BUILD_INDEX64_EXT_API OFF CACHE BOOL "")
set(BUILD_SINGLE OFF CACHE BOOL "")
set(BUILD_COMPLEX OFF CACHE BOOL "")
set(BUILD_COMPLEX16 OFF CACHE BOOL "")
