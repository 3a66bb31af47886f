// Executors of attention that run the kernels of our own on the host, for every type that they
// take.

#include "backend/cuda/context/executor.hpp"
#include "libraries/dnn/cuda/attention/checked_contents.hpp"
#include "libraries/dnn/cuda/attention/tiles/backward.hpp"
#include "libraries/dnn/cuda/attention/tiles/enqueue.hpp"
#include "libraries/dnn/cuda/attention/tiles/forward.hpp"
#include "libraries/dnn/cuda/attention/tiles/run.hpp"

#include <array>
#include <memory>

namespace troupe::cuda {
namespace {

/// The threads of a block, one after the other, in another order at each step: if one reads in a
/// step in which another one writes, results change.
class emulated_block {
 public:
  template <class T>
  class own {
   public:
    T& operator[](int thread) { return all_[static_cast<std::size_t>(thread)]; }

   private:
    std::array<T, tiles::threads> all_{};
  };

  template <class Step>
  void each(const Step& step) const {
    order_ = order_ * 5 + 3;
    for (unsigned i = 0; i < tiles::threads; ++i)
      step(static_cast<int>((i * (2 * order_ + 1) + order_) % tiles::threads));
  }

 private:
  mutable unsigned order_ = 0;
};

template <class Real>
struct emulated {
  static constexpr int columns = 64;

  static void forward(const tiles::problem& p) {
    if (p.batch * p.heads * p.s_q == 0) return;
    const auto work = tiles::forward_work::of<columns>(p);
    const auto room = std::make_unique<tiles::memory<Real>>();
    for (std::int64_t item = 0; item < work.items(p.batch); ++item)
      tiles::forward_tile<columns>(p, work, item, *room, emulated_block());
  }

  static void backward(const tiles::problem& p) {
    for (std::int64_t i = 0; i < p.batch * p.heads * p.s_q; ++i)
      tiles::store_delta<Real>(p, i);
    const auto work = tiles::backward_work::of_columns<columns>(p);
    const auto room = std::make_unique<tiles::memory<Real>>();
    for (std::int64_t item = 0; item < work.items(); ++item)
      tiles::backward_tile<columns>(p, work, item, *room, emulated_block());
  }
};

template <class R>
result<void> run(const R& r, lane& where) {
  const attention_case what(r);
  if (what.fp8()) return error{.code = errc::unsupported, .message = "not offered: e4m3"};
  return tiles::run(what, where);
}

const plugin_operations operations([](operation_table& table) {
  add<dnn::attention_forward>(table, run);
  add<dnn::attention_backward>(table, run);
});

}  // namespace

result<void> tiles::enqueue_forward(const problem& p, dtype type, cudaStream_t) {
  type == dtype::f64 ? emulated<double>::forward(p) : emulated<float>::forward(p);
  return {};
}
result<void> tiles::enqueue_backward(const problem& p, dtype type, cudaStream_t) {
  type == dtype::f64 ? emulated<double>::backward(p) : emulated<float>::backward(p);
  return {};
}
result<void> contents::enqueue_check(const sequence_contents& c, cudaStream_t) {
  std::int32_t wrong = 0;
  for (std::int64_t n = 0; n < c.batch; ++n)
    check_sequence(c, n, wrong, emulated_block());
  return {};
}
result<int> compute_capability() { return 90; }

}  // namespace troupe::cuda
