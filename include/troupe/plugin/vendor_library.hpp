#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>

#include <string>

namespace troupe {

/// Opens a vendor's library that a plugin uses if it is installed; `name` is its SONAME. Searches
/// in
/// the loader's order, and then in toolkits, the system's folders and Python's packages, as for the
/// libraries that a plugin is linked with. The library stays loaded for the life of the process.
/// The
/// result is a handle for `dlsym`. May take milliseconds: call it once.
/// \errors `library_missing` with the loader's message and the places searched
[[nodiscard]] TROUPE_EXPORT result<void*> open_vendor_library(const std::string& name);

}  // namespace troupe
