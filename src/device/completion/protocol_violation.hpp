#pragma once

#include "os/unique_fd.hpp"

#include <troupe/base/error.hpp>

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace troupe {

/// Wakes the device thread.
class device_bell {
 public:
  explicit device_bell(std::shared_ptr<os::unique_fd> event) noexcept : event_(std::move(event)) {}
  void ring() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(event_->get(), &one, sizeof(one));
  }

 private:
  const std::shared_ptr<os::unique_fd> event_;
};

/// The first violation of the protocol by the worker in service, until the device thread takes it.
class protocol_violation {
 public:
  explicit protocol_violation(const device_bell& device) noexcept : device_(device) {}

  /// `text` makes the message.
  template <class Text>
  void note(Text&& text) {
    if (found_) return;
    found_ = error{.code = errc::protocol_violation};
    device_.ring();
    try {
      found_->message = text();
    } catch (const std::bad_alloc&) {
      return;  // the code is enough
    }
  }
  [[nodiscard]] std::optional<error> take() noexcept { return std::exchange(found_, std::nullopt); }

 private:
  const device_bell& device_;
  std::optional<error> found_;
};

}  // namespace troupe
