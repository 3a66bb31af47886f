#pragma once

#include <troupe/base/result.hpp>

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace troupe::cuda {

/// What the callbacks of plans find in device memory: a place for each plan of a lane, which stays
/// where it is while the plan lives.
///
/// A plan has one place, although several of its requests may be in flight with other addresses.
/// That is right because all that touches the place is enqueued on the lane's one stream, in the
/// order of the requests: `enqueue_words` for a request begins when the kernels of the request
/// before have ended, and those of its own transform begin when it has. No other stream, and no
/// host code, ever reads or writes a place; a place that is given back and taken by another plan of
/// the lane is overwritten in the same order.
class caller_info {
 public:
  static constexpr std::size_t most_words = 322;  ///< of load and store together
  static constexpr std::size_t most_places = 64;

  /// \errors `out_of_memory`
  [[nodiscard]] static result<std::shared_ptr<caller_info>> make();
  ~caller_info();
  caller_info(const caller_info&) = delete;
  caller_info& operator=(const caller_info&) = delete;

  /// Null where all are taken. Any thread may give one back.
  [[nodiscard]] long* take();
  void give_back(long* place);

 private:
  caller_info() = default;

  std::byte* memory_ = nullptr;
  std::mutex mutex_;
  std::vector<long*> free_;
};

/// Writes a place in the order of the stream. Precondition: at most `caller_info::most_words`.
[[nodiscard]] result<void> enqueue_words(std::span<const long> words, long* place,
                                         cudaStream_t stream);
/// Loads the kernel into the current context ahead of its first use.
[[nodiscard]] result<void> load_caller_info_kernel();

}  // namespace troupe::cuda
