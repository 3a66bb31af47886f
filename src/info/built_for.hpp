#pragma once

#include <string_view>

namespace troupe::info {

/// The versions of the vendors' headers that this build was made with; "" if there were none.
struct header_versions {
  std::string_view toolkit{};
  std::string_view cublas{};
  std::string_view cudnn{};
  std::string_view cufft{};
  std::string_view curand{};
  std::string_view cusolver{};
  std::string_view cusparse{};
  std::string_view cutensor{};
  std::string_view nccl{};
};
extern const header_versions built_for;

}  // namespace troupe::info
