#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>

#include <string>

namespace troupe {

/// Opens a library of a vendor's that a plugin uses where it is there: `name` is its SONAME. It is
/// looked for as the loader does, and then in toolkits, the system's folders and Python's packages,
/// as those are that a plugin is linked with. It stays loaded for as long as the process lives; the
/// answer is what `dlsym` takes. May take milliseconds: call it once.
/// \errors `library_missing` with the loader's words, and where it was looked for
[[nodiscard]] TROUPE_EXPORT result<void*> open_vendor_library(const std::string& name);

}  // namespace troupe
