#include "os/limits.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace troupe::os {
namespace {

namespace fs = std::filesystem;

// Nothing where the file is not there or says "max".
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::string text;
  std::ifstream(file) >> text;
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, number);
  if (text.empty() || failed != std::errc() || rest != end) return std::nullopt;
  return number;
}

bool has_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "memory") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

// In a container the path may be that of the outside: what is mounted then is the group itself.
std::optional<std::uint64_t> least_up_to(const fs::path& root, std::string_view path,
                                         const char* file) {
  std::optional<std::uint64_t> least;
  const fs::path top = root.lexically_normal();
  // One outside of the mounted group begins with "/..".
  const fs::path below = fs::path(path).lexically_normal().relative_path();
  for (fs::path at = (root / below).lexically_normal();; at = at.parent_path()) {
    if (const auto limit = number_in(at / file)) least = std::min(*limit, least.value_or(*limit));
    if (at == top || at == at.parent_path()) return least;
  }
}

}  // namespace

std::optional<std::uint64_t> memory_limit_of_groups(std::string_view groups,
                                                    const fs::path& mounted) {
  std::optional<std::uint64_t> least;
  while (!groups.empty()) {
    std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(line.size() + 1, groups.size()));
    // hierarchy:controllers:path, with nothing between the colons in version 2.
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    std::optional<std::uint64_t> limit;
    if (controllers.empty()) {
      limit = least_up_to(mounted, path, "memory.max");
    } else if (has_memory(controllers)) {
      limit = least_up_to(mounted / "memory", path, "memory.limit_in_bytes");
    }
    if (limit) least = std::min(*limit, least.value_or(*limit));
  }
  return least;
}

namespace {

// Whoever may take few addresses maps what it shares, in the program and in each worker, and needs
// the greater part for all else: for the threads and buffers of libraries, above all.
std::optional<std::uint64_t> share_of_addresses() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur / 4;
}

}  // namespace

std::uint64_t usable_memory_bytes() {
  const auto physical = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::ifstream file("/proc/self/cgroup");
  const std::string groups(std::istreambuf_iterator<char>(file), {});
  return std::min({physical, memory_limit_of_groups(groups, "/sys/fs/cgroup").value_or(physical),
                   share_of_addresses().value_or(physical)});
}

}  // namespace troupe::os
