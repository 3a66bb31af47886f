#pragma once

#include "operations/python_operation.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace troupe::python {

/// Finds results that an operation has not written (`TROUPE_CHECK_RESULTS`): they are filled with
/// random bytes before it runs, and checked afterwards. Packed ones only: the bytes between the
/// elements of others belong to other owners.
class result_check {
 public:
  /// Fills them, in the order of `stream`, a GPU's; 0 on the CPU.
  result_check(const python_operation& op, const void* request, std::uintptr_t stream);
  /// Waits for the stream. Throws ValueError with the name of the first that was not written.
  void expect_written() const;

  [[nodiscard]] static bool enabled() noexcept;

 private:
  struct filled {
    std::string_view name;
    std::byte* address;
    std::size_t bytes;
    std::size_t element_bytes;
    bool on_gpu;
  };
  [[nodiscard]] std::size_t first_left(std::span<const std::byte> found) const noexcept;

  std::array<std::byte, 16> pattern_{};
  std::uintptr_t stream_;
  std::vector<filled> results_;
};

}  // namespace troupe::python
