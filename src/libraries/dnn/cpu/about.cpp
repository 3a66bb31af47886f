#include "backend/about.hpp"

#include <troupe/base/export.hpp>

#include <dnnl.hpp>

#include <string>
#include <thread>

extern "C" TROUPE_EXPORT void troupe_backend_about(troupe::tell_about* tell, void* to) {
  const char* const name = "oneDNN";
  const dnnl_version_t& version = *dnnl_version();
  tell(to, name, "version",
       (std::to_string(version.major) + '.' + std::to_string(version.minor) + '.' +
        std::to_string(version.patch))
           .c_str());
  tell(to, name, "threads", std::to_string(std::thread::hardware_concurrency()).c_str());
}
