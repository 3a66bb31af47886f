#include "libraries/dnn/cuda/rnn/operands.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace troupe::cuda::rnn {

std::size_t operands::add(const any_tensor& t, use how, std::uintptr_t alignment, call_frame& c) {
  one added{.given = t.address(),
            .address = t.address(),
            .bytes = static_cast<std::size_t>(t.null() ? 0 : t.count() * size_of(t.type())),
            .how = how};
  added.staged = added.bytes > 0 && reinterpret_cast<std::uintptr_t>(added.given) % alignment != 0;
  if (added.staged) added.copy = c.bytes(added.bytes);
  all_.push_back(added);
  return all_.size() - 1;
}

void operands::write(std::vector<std::uint64_t>& words) const {
  for (const one& t : all_)
    words.push_back(std::bit_cast<std::uint64_t>(t.given));
}

result<void> operands::begin(cudaStream_t stream) {
  for (one& t : all_) {
    if (!t.staged) continue;
    t.address = t.copy;
    if (t.how == use::writes) continue;
    TRY(enqueue_copy(t.address, t.given, t.bytes, stream));
  }
  return {};
}

result<void> operands::end(cudaStream_t stream) const {
  for (const one& t : all_) {
    if (!t.staged || t.how == use::reads) continue;
    TRY(enqueue_copy(t.given, t.address, t.bytes, stream));
  }
  return {};
}

result<void> check_reserve(const any_tensor& reserve, std::size_t bytes) {
  if (std::cmp_greater_equal(reserve.extent(0), bytes)) return {};
  return error{
      .code = errc::invalid_argument,
      .message = fmt::format("reserve must have the {} bytes that rnn_sizes says; it has {}", bytes,
                             reserve.extent(0))};
}

result<void> enqueue_copy(std::byte* to, const std::byte* from, std::size_t bytes,
                          cudaStream_t stream) {
  if (bytes == 0) return {};
  return check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream),
               "cudaMemcpyAsync");
}

result<void> enqueue_zeros(std::byte* to, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return {};
  return check(cudaMemsetAsync(to, 0, bytes, stream), "cudaMemsetAsync");
}

}  // namespace troupe::cuda::rnn
