#pragma once

#include <troupe/tensor/buffer.hpp>

namespace troupe::detail {

/// The owner of buffers: hands them out and takes them back.
class buffer_owner {
 public:
  /// Called once, by the thread that dropped the last reference.
  virtual void give_back(buffer& unused) noexcept = 0;

 protected:
  ~buffer_owner() = default;
};

}  // namespace troupe::detail
