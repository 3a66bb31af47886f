#pragma once

#include <troupe/worker/executor.hpp>

namespace troupe {

/// What a source of a plugin brings, as a static object of it: the plugin needs no list of its
/// sources. Every plugin has a list of its own, of what its sources have made while it was loaded;
/// from then on it is only read.
template <class Function>
class [[gnu::visibility("hidden")]] brought_by_plugin {
 public:
  explicit brought_by_plugin(Function* what) noexcept : what_(what), next_(first()) {
    first() = this;
  }
  ~brought_by_plugin() = default;
  brought_by_plugin(const brought_by_plugin&) = delete;
  brought_by_plugin& operator=(const brought_by_plugin&) = delete;

  template <class Visitor>
  static void visit(Visitor&& visitor) {
    for (const brought_by_plugin* one = first(); one != nullptr; one = one->next_)
      visitor(*one->what_);
  }

 private:
  Function* what_;
  const brought_by_plugin* next_;

  static const brought_by_plugin*& first() noexcept {
    // Constant-initialised, so before any object is made.
    static constinit const brought_by_plugin* made_last = nullptr;
    return made_last;
  }
};

/// Adds the executors of one source:
///
///     const plugin_operations operations([](operation_table& table) { table.add(&run_sum); });
using plugin_operations = brought_by_plugin<void(operation_table&)>;

/// Runs or enqueues a little of each kind of work that a source does, before the worker says that
/// it is ready and once for each lane that is to be fast at once: what a first request would
/// otherwise wait for. Uses the lane's workspace only.
using plugin_warm_up = brought_by_plugin<result<void>(lane_context&)>;

}  // namespace troupe
