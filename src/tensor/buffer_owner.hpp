#pragma once

#include <troupe/tensor/buffer.hpp>

namespace troupe::detail {

/// Whoever handed a buffer out and takes it back.
class buffer_owner {
 public:
  /// Called once, by the thread that dropped the last reference.
  virtual void give_back(buffer& unused) noexcept = 0;

 protected:
  ~buffer_owner() = default;
};

}  // namespace troupe::detail
