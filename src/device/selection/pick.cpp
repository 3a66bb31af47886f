#include "device/selection/pick.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace troupe {
namespace {

// Why a device cannot be picked; empty if it can.
std::string obstacle(const device_snapshot& one, const pick_options& options) {
  switch (one.state) {
    case device_state::starting:
    case device_state::ready:
    case device_state::recovering:
      break;
    case device_state::stopped:
    case device_state::condemned:
      return "has stopped";
  }
  if (!options.architecture.empty() && options.architecture != one.architecture) {
    return fmt::format(
        "is {}, not {}",
        one.architecture.empty() ? "without an architecture" : one.architecture.c_str(),
        options.architecture);
  }
  if (one.free_bytes < options.min_free_bytes) {
    return fmt::format("has {} bytes free, and {} are needed", one.free_bytes,
                       options.min_free_bytes);
  }
  return {};
}

// Less is better. Requests of a device that recovers wait.
std::tuple<bool, std::uint64_t, std::int32_t> rank(const device_snapshot& one, pick_policy policy) {
  const auto by = [&]() -> std::uint64_t {
    switch (policy) {
      case pick_policy::most_free:
        return ~one.free_bytes;
      case pick_policy::least_in_flight:
        return one.in_flight;
      case pick_policy::round_robin:
        return 0;
      case pick_policy::local:
        return ~one.near_bytes;
    }
    return 0;
  };
  return {one.state == device_state::recovering, by(), one.ordinal};
}

}  // namespace

result<std::size_t> pick_from(std::span<const device_snapshot> all, const pick_options& options,
                              std::uint64_t turn) {
  const pick_policy policy =
      options.policy.value_or(options.near.empty() ? pick_policy::most_free : pick_policy::local);
  std::vector<std::size_t> able;
  std::string reasons;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string why = obstacle(all[i], options);
    if (why.empty()) {
      able.push_back(i);
    } else {
      reasons += fmt::format("; device {} {}", all[i].ordinal, why);
    }
  }
  if (able.empty()) {
    return error{.code = errc::device_unavailable,
                 .message = "no device of the group can be picked" + reasons};
  }
  std::ranges::sort(able, {}, [&](std::size_t i) { return rank(all[i], policy); });
  if (policy != pick_policy::round_robin) return able.front();
  const auto serve = std::ranges::find_if(
      able, [&](std::size_t i) { return all[i].state == device_state::recovering; });
  const auto among = static_cast<std::uint64_t>(serve - able.begin());
  return able[turn % (among > 0 ? among : able.size())];
}

}  // namespace troupe
