#include "libraries/primitives/cuda/kernels/reduce.cuh"
#include "libraries/primitives/cuda/reductions.hpp"
#include "libraries/primitives/shared/combiner.hpp"

namespace troupe::cuda {
namespace {

struct as_it_is {
  template <class T>
  __device__ T operator()(T value, std::int64_t) const {
    return value;
  }
};
struct widen_small {
  template <class T>
  __device__ float operator()(T value, std::int64_t) const {
    return widened(value);
  }
};
struct extend {
  dtype type;
  template <class Bits>
  __device__ std::uint64_t operator()(Bits bits, std::int64_t) const {
    return extended_bits(type, bits);
  }
};

/// Writes a sum to the request's tensor or to its reply.
template <class Accumulator>
struct answer_sum {
  number_sink<Accumulator> sink;
  dtype of;
  scalar* reply;  // null: write to the sink
  __device__ void operator()(Accumulator sum) const {
    if (reply != nullptr) {
      *reply = number_of_sum(of, sum);
    } else {
      sink.store(0, sum);
    }
  }
};

template <class T, class Accumulator, class Widen>
result<void> enqueue(const primitives::reduce& r, Widen widen, lane& where, scalar* reply) {
  const primitives::combiner<Accumulator> combine{r.op};
  const bool to_reply = r.result.null();
  // Without a tensor the sink is not used.
  const answer_sum<Accumulator> answer{
      .sink = number_sink<Accumulator>(to_reply ? r.x : r.result, r.x.type(), r.op),
      .of = r.x.type(),
      .reply = to_reply ? reply : nullptr};
  return enqueue_reduction<T>(r.x, combine.identity(), widen, combine, where, answer);
}

}  // namespace

result<void> enqueue_sum(const primitives::reduce& r, lane& where, scalar* reply) {
  const dtype type = r.x.type();
  switch (type) {
    case dtype::f64:
      return enqueue<double, double>(r, as_it_is{}, where, reply);
    case dtype::f32:
      return enqueue<float, float>(r, as_it_is{}, where, reply);
    case dtype::f16:
      return enqueue<f16, float>(r, widen_small{}, where, reply);
    case dtype::bf16:
      return enqueue<bf16, float>(r, widen_small{}, where, reply);
    case dtype::e4m3:
      return enqueue<e4m3, float>(r, widen_small{}, where, reply);
    case dtype::e5m2:
      return enqueue<e5m2, float>(r, widen_small{}, where, reply);
    default:
      return primitives::with_key(type, [&]<class Bits>(Bits) {
        return enqueue<Bits, std::uint64_t>(r, extend{type}, where, reply);
      });
  }
}

}  // namespace troupe::cuda
