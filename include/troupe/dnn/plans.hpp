#pragma once

#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>

namespace troupe::dnn {

/// How a worker came by its compiled plans, since it was started.
struct plan_counts {
  std::int64_t built = 0;     ///< compiled for a request
  std::int64_t restored = 0;  ///< loaded from bytes, because a request asked for them
  std::int64_t ahead = 0;     ///< loaded from bytes before a request asked for them
  std::int64_t damaged = 0;   ///< bytes that could not be loaded
  std::int64_t failed = 0;    ///< the library had no engine
  std::int64_t kept = 0;      ///< plans in the worker now
  std::int64_t pending = 0;   ///< being compiled or loaded, or waiting for that

  TROUPE_EXPORT static void describe(description<plan_counts>& d);
};

/// Asks how the worker in service came by its plans. The CPU backend has none.
///
/// On a GPU most requests of this library run by a plan that cuDNN compiles, in up to seconds; a
/// request waits for its own, and requests of other lanes go on. The plan's bytes are kept by the
/// program and on disk, so that the next worker loads them, in milliseconds, before it is needed.
///
/// Reads and writes nothing.
struct plans {
  using reply = plan_counts;
  static constexpr std::string_view name = "dnn.plans";

  TROUPE_EXPORT static void describe(description<plans>& d);
};

}  // namespace troupe::dnn
