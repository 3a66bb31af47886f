# The Debian packages that `./dev package` makes with CPack, from the components of the installation:
#   troupe-gpu       library, headers, worker, the CPU backend, bin/troupe
#   troupe-gpu-cuda  the plugins of the CUDA backend. NVIDIA's libraries are suggested, not needed:
#                    a plugin whose library is missing takes only its own requests with it.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME troupe-gpu)
set(CPACK_PACKAGE_CONTACT "the Troupe authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime cuda)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME troupe-gpu)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "GPU work as supervised actors: library, worker and CPU backend")
# dpkg-shlibdeps finds the packages of all libraries but our own.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)

set(CPACK_DEBIAN_CUDA_PACKAGE_NAME troupe-gpu-cuda)
set(CPACK_COMPONENT_CUDA_DESCRIPTION "GPU work as supervised actors: CUDA backend")
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "troupe-gpu (= ${PROJECT_VERSION})")
# In NVIDIA's repository, which Debian's dpkg-shlibdeps does not know.
set(CPACK_DEBIAN_CUDA_PACKAGE_SUGGESTS
    "libcublas-13-0, libcufft-13-0, libcurand-13-0, libcusolver-13-0, libcusparse-13-0, cuda-nvrtc-13-0, libcudnn9-cuda-13")

include(CPack)
