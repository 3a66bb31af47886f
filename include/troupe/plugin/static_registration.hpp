#pragma once

#include <troupe/plugin/executor.hpp>

namespace troupe {

/// Registers a function of one source file by a static object in it, so that a plugin needs no list
/// of its sources. Every plugin has its own list; it is filled while the plugin is loaded, and only
/// read afterwards.
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
    // Constant-initialised, so it is valid before any object is constructed.
    static constinit const static_registration* made_last = nullptr;
    return made_last;
  }
};

/// Adds the executors of one source file:
///
///     const plugin_operations operations([](operation_table& table) { table.add(&run_sum); });
using plugin_operations = static_registration<void(operation_table&)>;

/// Says which operations of a library can be recorded. Called when all executors have been added.
using plugin_recordings = static_registration<void(recordable_operations&)>;

/// Runs or enqueues a little of each kind of work of a source file, so that a first request does
/// not wait for it. Called before the worker reports ready, once for each lane that is to be fast
/// from the start. Uses only the lane's workspace.
using plugin_warm_up = static_registration<result<void>(lane_context&)>;

}  // namespace troupe
