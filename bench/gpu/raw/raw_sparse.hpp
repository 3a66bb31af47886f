#pragma once

#include "raw.hpp"

#include <cstdint>
#include <memory>

namespace troupe::bench::raw {

/// cuSPARSE on a stream, called as a plain program calls it: a square matrix of f32 or f64 with i32
/// indices, which is on the device, and buffers made before.
class sparse {
 public:
  /// csr; bsr of square blocks, stored by rows, where `block` is given; sliced ELL without padding
  /// where `slice_rows` is.
  struct matrix {
    std::int64_t n;
    std::int64_t elements;
    void* offsets;
    void* columns;
    void* values;
    bool is_f64 = false;
    std::int64_t block = 0;
    std::int64_t slice_rows = 0;
  };
  sparse(stream& on, const matrix& a);
  ~sparse();
  sparse(const sparse&) = delete;
  sparse& operator=(const sparse&) = delete;

  /// y = a · x.
  void multiply(void* x, void* y);
  /// c = a · b, row-major with `n` columns.
  void multiply(void* b, void* c, std::int64_t n);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe::bench::raw
