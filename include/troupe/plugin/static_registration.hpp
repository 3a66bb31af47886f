#pragma once

#include <troupe/plugin/executor.hpp>

namespace troupe {

/// What a source of a plugin brings, as a static object of it: the plugin needs no list of its
/// sources. Every plugin has a list of its own, of what its sources have made while it was loaded;
/// from then on it is only read.
template <class Function>
class [[gnu::visibility("hidden")]] static_registration {
 public:
  explicit static_registration(Function* what) noexcept : what_(what), next_(first()) {
    first() = this;
  }
  ~static_registration() = default;
  static_registration(const static_registration&) = delete;
  static_registration& operator=(const static_registration&) = delete;

  template <class Visitor>
  static void visit(Visitor&& visitor) {
    for (const static_registration* one = first(); one != nullptr; one = one->next_)
      visitor(*one->what_);
  }

 private:
  Function* what_;
  const static_registration* next_;

  static const static_registration*& first() noexcept {
    // Constant-initialised, so before any object is made.
    static constinit const static_registration* made_last = nullptr;
    return made_last;
  }
};

/// Adds the executors of one source:
///
///     const plugin_operations operations([](operation_table& table) { table.add(&run_sum); });
using plugin_operations = static_registration<void(operation_table&)>;

/// Runs or enqueues a little of each kind of work that a source does, before the worker says that
/// it is ready and once for each lane that is to be fast at once: what a first request would
/// otherwise wait for. Uses the lane's workspace only.
using plugin_warm_up = static_registration<result<void>(lane_context&)>;

}  // namespace troupe
