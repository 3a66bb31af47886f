#pragma once

#include <string>

namespace troupe::worker {

/// Describes the defect of a shared library whose file is truncated: the loader would map the
/// missing part, and crash. Empty for any other file; the loader reports its defects itself.
[[nodiscard]] std::string lack_of_bytes(const std::string& path);

}  // namespace troupe::worker
