#include "jit/client/disk_cache.hpp"

namespace troupe::jit {
namespace {

constexpr os::content_folder::form kernels{
    .extension = ".kernel",
    .mark = {'t', 'r', 'o', 'u', 'p', 'e', '-', 'k', 'e', 'r', 'n', 'e', 'l', '-', '0', '1'}};

}  // namespace

result<disk_cache> disk_cache::open(const std::string& folder, std::uint64_t most_bytes) {
  auto opened = os::content_folder::open(folder, kernels, most_bytes);
  if (!opened) return std::move(opened).error();
  return disk_cache(*std::move(opened));
}

}  // namespace troupe::jit
