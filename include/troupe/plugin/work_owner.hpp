#pragma once

#include <troupe/base/export.hpp>

#include <cstdint>

namespace troupe {

/// The request that a thread of a worker works for, if any.
struct work_owner {
  std::uint64_t ticket = 0;
  bool known = false;

  /// The calling thread's owner. A thread that runs an operation has one, and so does one that asks
  /// whether a request is prepared (`operation::prepared`).
  [[nodiscard]] TROUPE_EXPORT static work_owner of_this_thread() noexcept;
};

/// Makes a request the owner of the calling thread's work. If the process crashes meanwhile, that
/// request fails, and those that wait for others run in the next worker. For threads of a library,
/// such as one that compiles a plan for a request.
class TROUPE_EXPORT works_for {
 public:
  explicit works_for(work_owner owner) noexcept;
  works_for(const works_for&) = delete;
  works_for& operator=(const works_for&) = delete;
  ~works_for();

 private:
  work_owner before_;
};

}  // namespace troupe
