#pragma once

#include <troupe/core/actor_ref.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace troupe::detail {

/// Actors by name, each until it stops. By any thread.
class registry final : public std::enable_shared_from_this<registry> {
 public:
  result<void> add(std::string name, const any_actor_ref& actor);
  [[nodiscard]] result<any_actor_ref> find(std::string_view name) const;
  bool forget(std::string_view name);

 private:
  void forget_stopped(const std::string& name, actor_id who);

  mutable std::mutex mutex_;
  std::map<std::string, any_actor_ref, std::less<>> actors_;
};

}  // namespace troupe::detail
