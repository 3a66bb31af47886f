// Executors of recurrent networks that run the kernels of our own on the host, between products by
// the CPU backend: GRU whose reset gate comes first.

#include "backend/cuda/context/executor.hpp"
#include "libraries/dnn/cuda/plan/words.hpp"
#include "libraries/dnn/cuda/rnn/drop.hpp"
#include "libraries/dnn/cuda/rnn/gru/passes.hpp"
#include "libraries/dnn/cuda/rnn/gru/steps.hpp"
#include "libraries/dnn/shared/attention_masks.hpp"

#include <cuda_runtime_api.h>

#include <cstring>

namespace troupe::cuda {
namespace {

using namespace rnn;

template <class R>
bool runs_here(const R& r) {
  return dnn::shape_of(r).resets_first && !dnn::nothing_to_run(dnn::shape_of(r), r.lengths);
}
template <class R, result<void> (*Run)(const R&, lane&)>
result<void> run(const R& r, lane& where) {
  if (!runs_here(r))
    return error{.code = errc::unsupported, .message = "not offered: networks of cuDNN"};
  return Run(r, where);
}

template <class Real>
void run_part(gru::part what, const gru::step& s) {
  constexpr void (*parts[])(const gru::step&, std::int64_t) = {
      gru::reset_state<Real>, gru::update_state<Real>, gru::update_gradients<Real>,
      gru::reset_gradients<Real>};
  for (std::int64_t i = 0; i < s.batch * s.hidden; ++i)
    parts[static_cast<std::size_t>(what)](s, i);
}

const plugin_operations operations([](operation_table& table) {
  table.add<dnn::rnn_sizes>(
      +[](const dnn::rnn_sizes& r, lane_context&) -> result<dnn::rnn_byte_counts> {
        const bool here = dnn::shape_of(r).resets_first;
        return dnn::rnn_byte_counts{
            .weights = dnn::rnn_weight_count(r.network, r.input),
            .reserve = here ? static_cast<std::int64_t>(gru::reserve_bytes(r)) : 0};
      });
  add<dnn::rnn_forward>(table, run<dnn::rnn_forward, gru::forward>);
  add<dnn::rnn_backward_data>(table, run<dnn::rnn_backward_data, gru::backward_data>);
  add<dnn::rnn_backward_weights>(table, run<dnn::rnn_backward_weights, gru::backward_weights>);
});

}  // namespace

result<void> rnn::gru::enqueue(part what, const step& s, cudaStream_t) {
  s.type == dtype::f64 ? run_part<double>(what, s) : run_part<float>(what, s);
  return {};
}
result<void> rnn::gru::enqueue(const copied_rows& c, cudaStream_t) {
  for (std::int64_t i = 0; i < c.count; ++i)
    c.to_type == dtype::f64 ? copy_number<double>(c, i) : copy_number<float>(c, i);
  return {};
}
cudaError_t rnn::enqueue_dropped(const dropped_sequences& s, dtype type, const std::byte* from,
                                 std::byte* to, cudaStream_t) {
  const auto run = [&]<class Real>(Real) {
    dnn::drawn_words words(s.seed, s.first_word);
    for (std::int64_t n = 0; n < s.steps * s.batch * s.width; ++n) {
      const std::int64_t row = n / s.width;
      const std::int64_t place = s.time_first ? row : row % s.batch * s.steps + row / s.batch;
      const std::int64_t at = place * s.width + n % s.width;
      const bool kept = words.next() >= dnn::dropout_threshold(s.dropout);
      store_element<Real>(
          to, type, at,
          kept ? element<Real>(from, type, at) / static_cast<Real>(1 - s.dropout) : Real{0});
    }
  };
  type == dtype::f64 ? run(double{}) : run(float{});
  return cudaSuccess;
}
cudaError_t enqueue_words(std::span<const std::uint32_t> words, std::byte* to, cudaStream_t) {
  std::memcpy(to, words.data(), words.size_bytes());
  return cudaSuccess;
}

}  // namespace troupe::cuda

extern "C" {

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return "emulated"; }
const char* cudaGetErrorString(cudaError_t) { return "emulated"; }
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
}
