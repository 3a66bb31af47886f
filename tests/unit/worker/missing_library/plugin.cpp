// The plugin of library `vendor`: it cannot be loaded, because what it is linked to is not there.

#include <troupe/base/export.hpp>
#include <troupe/plugin/executor.hpp>

#include <cstdlib>

extern "C" int fake_vendor_works();

extern "C" TROUPE_EXPORT void troupe_backend_operations(troupe::operation_table&) {
  if (fake_vendor_works() == 0) std::abort();
}
