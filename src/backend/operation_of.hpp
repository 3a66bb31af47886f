#pragma once

#include <troupe/plugin/executor.hpp>

#include <mutex>
#include <string>

namespace troupe {

/// Another library's operation, run by a plugin for its own requests: the operation of the backend
/// beside which the plugin lies, or of a plugin whose name sorts earlier, so that kernels and
/// caches exist once. A backend adds its operations before the plugins beside it, which follow in
/// the order of their names.
template <request R>
  requires std::is_void_v<reply_of<R>>
class operation_of {
 public:
  /// Call when the plugin's own operations are added to the same table. Devices of one program
  /// whose workers are threads do so at any time, each from a thread of its own, and find the same
  /// operation: it is written once, before the first of them runs a request.
  void find_in(const operation_table& table) {
    const std::lock_guard lock(mutex_);
    if (found_.run != nullptr) return;
    if (const operation* const found = table.find(request_type_of<R>().id)) found_ = *found;
  }
  /// Runs a valid request on the lane of the request that it is a part of.
  /// \errors those of the operation; `unsupported` if the backend has none
  [[nodiscard]] result<void> operator()(const R& r, lane_context& where) const {
    if (found_.run != nullptr) return found_.run(found_.executor, &r, where, nullptr);
    return error{.code = errc::unsupported,
                 .message = "the backend has no executor of " + std::string(R::name)};
  }

 private:
  std::mutex mutex_;
  operation found_;
};

}  // namespace troupe
