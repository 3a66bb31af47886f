#pragma once

#include <string>

namespace troupe::worker {

/// What is wrong with a file that is to be loaded as a shared library, where its bytes end before
/// it does: the loader would map what is missing, and crash. Nothing for any other file, of which
/// the loader says what is wrong.
[[nodiscard]] std::string lack_of_bytes(const std::string& path);

}  // namespace troupe::worker
