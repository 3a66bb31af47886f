#include "os/limits.hpp"

#include "os/unique_fd.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace troupe::os {
namespace {

namespace fs = std::filesystem;

constexpr const char* mounted_groups = "/sys/fs/cgroup";

// Nothing if the file does not exist or says "max".
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::string text;
  std::ifstream(file) >> text;
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, number);
  if (text.empty() || failed != std::errc() || rest != end) return std::nullopt;
  return number;
}

// "200000 100000": the microseconds that all processors together may use, of how many microseconds
// of time.
std::optional<double> processors_in(const fs::path& file) {
  double used = 0;
  double of = 0;
  std::ifstream text(file);
  if (!(text >> used >> of) || used <= 0 || of <= 0) return std::nullopt;
  return used / of;
}

// The same in version 1.
std::optional<double> processors_in_two_files(const fs::path& group) {
  const auto used = number_in(group / "cpu.cfs_quota_us");
  const auto of = number_in(group / "cpu.cfs_period_us");
  if (!used || !of || *of == 0) return std::nullopt;
  return static_cast<double>(*used) / static_cast<double>(*of);
}

bool has(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == wanted) return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

// In a container the path may be the outside one: then the mounted folder is the group itself.
template <class Read>
auto least_up_to(const fs::path& root, std::string_view path, Read read) {
  decltype(read(root)) least;
  const fs::path top = root.lexically_normal();
  // The path of a group outside of the mounted one begins with "/..".
  const fs::path below = fs::path(path).lexically_normal().relative_path();
  for (fs::path at = (root / below).lexically_normal();; at = at.parent_path()) {
    if (const auto limit = read(at)) least = std::min(*limit, least.value_or(*limit));
    if (at == top || at == at.parent_path()) return least;
  }
}

// The least of the values of `one` for all groups: by their controllers, "" in version 2, and their
// path.
template <class One>
auto least_of(std::string_view groups, One one) {
  decltype(one(groups, groups)) least;
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
    if (const auto limit = one(controllers, path)) {
      least = std::min(*limit, least.value_or(*limit));
    }
  }
  return least;
}

// A process with few addresses maps the shared memory in the program and in each worker, and needs
// most of the rest for other uses: above all threads and buffers of libraries.
std::optional<std::uint64_t> share_of_addresses() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur / 4;
}

// More is of no use: a process may have that many mappings (vm.max_map_count). And some programs
// close each number up to the limit; a container may grant a thousand million.
constexpr rlim_t most_descriptors = 64 << 10;

constinit std::atomic<bool> is_raised{false};
constinit rlim_t soft_before = 0;

void lower_in_forked_process() noexcept {
  rlimit limit{};
  if (!is_raised.exchange(false) || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = soft_before;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string groups_of_this_process() {
  std::ifstream file("/proc/self/cgroup");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

void raise_descriptor_limit() noexcept {
  static const int registered = ::pthread_atfork(nullptr, nullptr, &lower_in_forked_process);
  rlimit limit{};
  if (registered != 0 || is_raised.exchange(true)) return;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  soft_before = limit.rlim_cur;
  limit.rlim_cur = std::max(soft_before, std::min(limit.rlim_max, most_descriptors));
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string lack_of_descriptors() {
  const unique_fd another(::eventfd(0, EFD_CLOEXEC));
  if (another || (errno != EMFILE && errno != ENFILE)) return {};
  if (errno == ENFILE) return "the system has no file descriptor left (fs.file-max)";
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return fmt::format(
      "the program has no file descriptor left: its limit is {} (RLIMIT_NOFILE), the hard one {}; "
      "raise it with ulimit -n, or LimitNOFILE= of its service",
      limit.rlim_cur, limit.rlim_max);
}

std::optional<std::uint64_t> memory_limit_of_groups(std::string_view groups,
                                                    const fs::path& mounted) {
  using limit = std::optional<std::uint64_t>;
  return least_of(groups, [&](std::string_view controllers, std::string_view path) -> limit {
    const auto in = [](const char* file) {
      return [file](const fs::path& group) { return number_in(group / file); };
    };
    if (controllers.empty()) return least_up_to(mounted, path, in("memory.max"));
    if (!has(controllers, "memory")) return std::nullopt;
    return least_up_to(mounted / "memory", path, in("memory.limit_in_bytes"));
  });
}

std::optional<double> processor_limit_of_groups(std::string_view groups, const fs::path& mounted) {
  using limit = std::optional<double>;
  return least_of(groups, [&](std::string_view controllers, std::string_view path) -> limit {
    if (controllers.empty()) {
      return least_up_to(mounted, path,
                         [](const fs::path& group) { return processors_in(group / "cpu.max"); });
    }
    if (!has(controllers, "cpu")) return std::nullopt;
    return least_up_to(mounted / "cpu", path, &processors_in_two_files);
  });
}

std::optional<std::uint64_t> memory_limit_of_groups() {
  return memory_limit_of_groups(groups_of_this_process(), mounted_groups);
}

std::optional<double> processor_limit_of_groups() {
  return processor_limit_of_groups(groups_of_this_process(), mounted_groups);
}

std::uint64_t usable_memory_bytes() {
  const auto physical = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min({physical, memory_limit_of_groups().value_or(physical),
                   share_of_addresses().value_or(physical)});
}

}  // namespace troupe::os
