#pragma once

#include <troupe/base/export.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <memory>

namespace troupe {

/// A tensor that is the program's own for a while, to be read and written by its own code: on a GPU
/// by kernels and libraries in the program's CUDA context, on the CPU backend in place. What
/// `device::lend` answers; move-only.
///
/// Order in both directions: it is there once every earlier request that conflicts with it has
/// ended, and later ones wait until it is given back. For a read lease those are requests that
/// write the tensor, else all that use it. Requests on other tensors go on. Who waits for a request
/// that waits for this lease waits for ever, unless the request has a deadline.
///
/// On a GPU the program must have synchronised its own work on the memory before it gives back:
/// Troupe does not know its streams. What was written by then is what later requests see.
///
/// Faults of workers do not reach it: the memory is the program's, and the next worker waits for it
/// as the last one did. A fault of the program's own kernels ruins the program's context, not the
/// tensor's device. It outlives its device: the memory stays until it is given back.
class TROUPE_EXPORT lease {
 public:
  struct parts;  // Troupe's own
  explicit lease(std::unique_ptr<parts> made) noexcept;
  lease(lease&&) noexcept;
  lease& operator=(lease&&) noexcept;
  /// Gives back.
  ~lease();

  /// The tensor's first element for this program: with CUDA for the context that was current where
  /// `lend` was called, and any other of that device. It is not what `any_tensor::address` says,
  /// where workers have it. Null once given back.
  [[nodiscard]] std::byte* address() const noexcept;
  template <class T>
  [[nodiscard]] T* data() const noexcept {
    return reinterpret_cast<T*>(address());
  }
  /// Extents, strides and type are those of what lies at `address`. Precondition: not given back.
  [[nodiscard]] const any_tensor& tensor() const noexcept;

  /// Ends it: what waits for it goes on. With CUDA the memory is unmapped first. Further calls do
  /// nothing.
  void give_back() noexcept;

 private:
  std::unique_ptr<parts> parts_;
};

}  // namespace troupe
