#pragma once

#include <string_view>

namespace troupe {

/// The version of Troupe that these headers belong to.
inline constexpr std::string_view library_version = "0.1.0";

}  // namespace troupe
