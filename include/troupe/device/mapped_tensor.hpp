#pragma once

#include <troupe/base/export.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <memory>

namespace troupe {

/// A tensor that the program's own code may access for a while: on a GPU from kernels and libraries
/// in the program's CUDA context, on the CPU backend in place. Returned by `device::mapped`;
/// move-only.
///
/// The mapping is ordered against requests in both directions. It exists once every earlier request
/// that conflicts with it has ended; later conflicting requests wait until it is unmapped. A
/// mapping for reading conflicts with requests that write the tensor; any other mapping conflicts
/// with all requests that use it. Requests on other tensors are not affected. If the program blocks
/// on a request that waits for the mapping, it deadlocks, unless the request has a deadline.
///
/// On a GPU the program must synchronise its own work on the memory before it unmaps, because
/// Troupe does not know the program's streams. Later requests see everything written by then.
///
/// Worker faults do not affect a mapping: the memory belongs to the program, and the next worker
/// waits for it as the last one did. A fault in the program's own kernels destroys the program's
/// context, not the tensor's device. A mapping outlives its device: the memory stays until it is
/// unmapped.
class TROUPE_EXPORT mapped_tensor {
 public:
  struct parts;  // internal
  explicit mapped_tensor(std::unique_ptr<parts> made) noexcept;
  mapped_tensor(mapped_tensor&&) noexcept;
  mapped_tensor& operator=(mapped_tensor&&) noexcept;
  /// Unmaps.
  ~mapped_tensor();

  /// The address of the tensor's first element in this program. With CUDA it is valid in the
  /// context that was current when `mapped` was called, and in any other context of that GPU. It
  /// differs from `any_tensor::address`, which is the address in the workers. Null once unmapped.
  [[nodiscard]] std::byte* address() const noexcept;
  template <class T>
  [[nodiscard]] T* data() const noexcept {
    return reinterpret_cast<T*>(address());
  }
  /// Extents, strides and type of the elements at `address`. Precondition: not unmapped.
  [[nodiscard]] const any_tensor& tensor() const noexcept;

  /// Ends the mapping; requests that wait for it proceed. With CUDA the memory is unmapped first.
  /// Further calls have no effect.
  void unmap() noexcept;

 private:
  std::unique_ptr<parts> parts_;
};

}  // namespace troupe
