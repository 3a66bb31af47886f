#pragma once

#include "raw.hpp"

#include <cstdint>
#include <memory>

namespace troupe::bench::raw {

/// cuSOLVER on a stream, called as a plain program calls it: f32, column-major, packed, workspace
/// allocated before. Each call overwrites `a` and its results.
class solver {
 public:
  explicit solver(stream& on);
  ~solver();
  solver(const solver&) = delete;
  solver& operator=(const solver&) = delete;

  enum class what : std::uint8_t {
    getrf,
    potrf,
    geqrf,
    syevd,   ///< with vectors
    gesvdj,  ///< values alone
  };
  /// Runs it on an n × n matrix.
  void run(what routine, std::int64_t n, void* a);

  enum class batch : std::uint8_t {
    solve,   ///< getrfBatched and getrsBatched, one right side each, in `b`
    syev,    ///< with vectors
    gesvdj,  ///< with vectors
  };
  void run(batch routine, int n, int count, void* a, void* b);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe::bench::raw
