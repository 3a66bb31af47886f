#include "backend/about.hpp"

#include <troupe/base/export.hpp>

#include <fftw3.h>

#include <algorithm>
#include <string>

extern "C" TROUPE_EXPORT void troupe_backend_about(troupe::tell_about* tell, void* to) {
  const char* const name = "FFTW";
  // "fftw-3.3.10-sse2-avx"
  const std::string build = fftw_version;
  const std::size_t version = build.find('-') + 1;
  const std::size_t kernels = std::min(build.find('-', version), build.size());
  tell(to, name, "version", build.substr(version, kernels - version).c_str());
  if (kernels < build.size()) tell(to, name, "kernels", build.substr(kernels + 1).c_str());
  tell(to, name, "threads", "1");  // the lane's own
}
