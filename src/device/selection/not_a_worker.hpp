#pragma once

#include <troupe/base/error.hpp>

#include <optional>

namespace troupe {

/// The reason why this process may not make a device: it was started as a worker and has not become
/// one. Its device would start it again, without end. Also reports this to the program that started
/// it.
[[nodiscard]] std::optional<error> not_a_worker();

}  // namespace troupe
