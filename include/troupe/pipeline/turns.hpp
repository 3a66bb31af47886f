#pragma once

#include <troupe/base/export.hpp>
#include <troupe/core/future.hpp>

#include <cstdint>
#include <memory>

namespace troupe::detail {

/// Lets numbered items into a stage in their order, so many at once. Thread-safe.
class TROUPE_EXPORT pipeline_turns {
 public:
  explicit pipeline_turns(int at_once);
  pipeline_turns(pipeline_turns&&) noexcept;
  ~pipeline_turns();

  /// Ready when all items before `number` have entered or been skipped, and there is room. Each
  /// number enters or is skipped once.
  [[nodiscard]] future<void> enter(std::uint64_t number);
  void leave();
  /// An item that will not come.
  void skip(std::uint64_t number);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe::detail
