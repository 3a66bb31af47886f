#pragma once

#include <troupe/base/result.hpp>

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace troupe::cuda {

/// Device memory with the words that callbacks read. Each plan of a lane has a place, at the same
/// address as long as the plan lives.
///
/// One place per plan is enough, even if several of its requests with other addresses are in
/// flight. Everything that accesses the place is enqueued on the lane's one stream, in the order of
/// the requests: `enqueue_words` of a request begins after the kernels of the request before, and
/// the kernels of its own transform begin after it. No other stream and no host code accesses a
/// place. If a place is given back and another plan of the lane takes it, it is overwritten in the
/// same order.
class caller_info {
 public:
  static constexpr std::size_t most_words = 322;  ///< for load and store together
  static constexpr std::size_t most_places = 64;

  /// \errors `out_of_memory`
  [[nodiscard]] static result<std::shared_ptr<caller_info>> make();
  ~caller_info();
  caller_info(const caller_info&) = delete;
  caller_info& operator=(const caller_info&) = delete;

  /// Null if all places are taken. Any thread may give one back.
  [[nodiscard]] long* take();
  void give_back(long* place);

 private:
  caller_info() = default;

  std::byte* memory_ = nullptr;
  std::mutex mutex_;
  std::vector<long*> free_;
};

/// Writes a place in stream order. Precondition: at most `caller_info::most_words`.
[[nodiscard]] result<void> enqueue_words(std::span<const long> words, long* place,
                                         cudaStream_t stream);
/// Loads the kernel into the current context ahead of its first use.
[[nodiscard]] result<void> load_caller_info_kernel();

}  // namespace troupe::cuda
