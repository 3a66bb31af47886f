#pragma once

#include <troupe/request/request.hpp>

namespace troupe::lane {

/// Launches a kernel that does nothing, in its lane: the smallest work that a GPU can be given. On
/// the CPU backend it does nothing at all. What a launch costs is measured with it, and whether a
/// device really runs anything.
///
/// Reads and writes nothing. Never runs longer than the launch itself.
struct launch {
  using reply = void;
  static constexpr std::string_view name = "lane.launch";

  TROUPE_EXPORT static void describe(description<launch>& d);
};

}  // namespace troupe::lane
