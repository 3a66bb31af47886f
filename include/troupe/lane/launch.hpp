#pragma once

#include <troupe/request/request.hpp>

namespace troupe::lane {

/// Launches an empty kernel in its lane: the smallest work that a GPU accepts. On the CPU backend
/// it does nothing. Use it to measure the cost of a launch, or to check that a device runs work.
///
/// Reads and writes nothing. Takes no longer than the launch itself.
struct launch {
  using reply = void;
  static constexpr std::string_view name = "lane.launch";

  TROUPE_EXPORT static void describe(description<launch>& d);
};

}  // namespace troupe::lane
