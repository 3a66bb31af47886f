#pragma once

#include <troupe/plugin/executor.hpp>

#include <string>

namespace troupe {

/// Another library's operation, as a plugin runs it for its own requests: that of the backend which
/// the plugin lies beside, or of a plugin whose name comes before, so that kernels and caches are
/// there once. A backend adds its operations before the plugins beside it do, these in the order of
/// their names.
template <request R>
  requires std::is_void_v<reply_of<R>>
class operation_of {
 public:
  /// To be called when the plugin's own operations are added to the same table.
  void find_in(const operation_table& table) {
    if (const operation* const found = table.find(request_type_of<R>().id)) found_ = *found;
  }
  /// Runs a valid request on the lane of the request that it is a part of.
  /// \errors those of the operation; `unsupported` where the backend has none
  [[nodiscard]] result<void> operator()(const R& r, lane_context& where) const {
    if (found_.run != nullptr) return found_.run(found_.executor, &r, where, nullptr);
    return error{.code = errc::unsupported,
                 .message = "the backend has no executor of " + std::string(R::name)};
  }

 private:
  operation found_;
};

}  // namespace troupe
