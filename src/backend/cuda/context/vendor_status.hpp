#pragma once

#include <troupe/base/error.hpp>

#include <string_view>

namespace troupe::cuda {

/// A status of one of NVIDIA's libraries: its number and name there, and its meaning here.
struct vendor_status {
  int number;
  std::string_view name;
  errc kind;
};

}  // namespace troupe::cuda
