#include "backend/about.hpp"

#include "libraries/blas/openblas/openblas.hpp"

#include <troupe/base/export.hpp>

#include <string>

extern "C" TROUPE_EXPORT void troupe_backend_about(troupe::tell_about* tell, void* to) {
  const char* const name = "OpenBLAS";
  // "OpenBLAS 0.3.21 DYNAMIC_ARCH …"
  const std::string build = openblas_get_config();
  const std::size_t version = build.find(' ') + 1;
  tell(to, name, "version", build.substr(version, build.find(' ', version) - version).c_str());
  tell(to, name, "kernels", openblas_get_corename());
  tell(to, name, "threads", std::to_string(openblas_get_num_threads()).c_str());
}
