#include "info/machine.hpp"

#include "os/limits.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <thread>

namespace troupe::info {
namespace {

std::optional<std::uint64_t> limit_of(decltype(RLIMIT_AS) what) {
  rlimit limit{};
  if (::getrlimit(what, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

entry processors() {
  const auto online = static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  const std::uint64_t usable = std::thread::hardware_concurrency();
  entry one{.name = "processors", .text = fmt::format("{} of {} usable", usable, online)};
  one.fact("usable", usable).fact("online", online);
  if (const auto limit = os::processor_limit_of_groups()) {
    one.text += fmt::format(", the control group lets {:g} run", *limit);
    one.fact("control_group", *limit);
    if (*limit < static_cast<double>(usable)) {
      one.remedy = "set lane_threads and OPENBLAS_NUM_THREADS to no more than those";
    }
  }
  return one;
}

entry memory() {
  const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                     static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  entry one{.name = "memory", .text = gibibytes(bytes)};
  one.fact("bytes", bytes);
  if (const auto limit = os::memory_limit_of_groups(); limit && *limit < bytes) {
    one.text += fmt::format(", of which the control group lets {} be used", gibibytes(*limit));
    one.fact("control_group_bytes", *limit);
  }
  return one;
}

entry addresses() {
  const auto limit = limit_of(RLIMIT_AS);
  entry one{.name = "addresses", .text = limit ? gibibytes(*limit) : "unlimited"};
  if (limit) one.fact("limit_bytes", *limit);
  constexpr std::uint64_t enough = std::uint64_t{8} << 30;
  if (limit && *limit < enough) {
    one.remedy =
        "raise the limit (ulimit -v): devices and OpenBLAS take many addresses, whatever "
        "memory they use";
  }
  return one;
}

entry descriptors() {
  const auto limit = limit_of(RLIMIT_NOFILE);
  entry one{.name = "descriptors", .text = limit ? fmt::format("{}", *limit) : "unlimited"};
  if (limit) one.fact("limit", *limit);
  return one;
}

entry mappings() {
  std::uint64_t most = 0;
  entry one{.name = "mappings", .text = "unknown"};
  if (std::ifstream("/proc/sys/vm/max_map_count") >> most) {
    one.text = fmt::format("{} (vm.max_map_count)", most);
    one.fact("limit", most);
  }
  return one;
}

}  // namespace

std::string gibibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

std::vector<entry> machine() {
  return {processors(), memory(), addresses(), descriptors(), mappings()};
}

}  // namespace troupe::info
