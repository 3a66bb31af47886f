#pragma once

#include <memory>
#include <utility>

namespace troupe::detail {

class system_core;

/// A shutdown in progress. Every actor holds it until it has replied to all messages that its
/// mailbox held when the shutdown came; when the last one drops it, all can stop without a loss.
class settling {
 public:
  explicit settling(std::shared_ptr<system_core> core) noexcept : core_(std::move(core)) {}
  settling(const settling&) = delete;
  settling& operator=(const settling&) = delete;
  ~settling();

 private:
  std::shared_ptr<system_core> core_;
};

}  // namespace troupe::detail
