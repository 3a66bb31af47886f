#include "libraries/primitives/cuda/kernels/reduce.cuh"
#include "libraries/primitives/cuda/reductions.hpp"

namespace troupe::cuda {
namespace {

using primitives::extreme_order;
using primitives::with_key;

template <class Key>
struct rank_of {
  extreme_order<Key> order;
  __device__ Key operator()(Key bits, std::int64_t) const { return order.rank_of(bits); }
};
struct higher_rank {
  template <class Key>
  __device__ Key operator()(Key a, Key b) const {
    return a > b ? a : b;
  }
};

/// Writes an element to the request's tensor or to its reply.
template <class Key>
struct answer_element {
  extreme_order<Key> order;
  dtype type;
  Key* result;
  scalar* reply;
  __device__ void operator()(Key rank) const {
    const Key bits = order.bits_of(rank);
    if (result == nullptr) {
      *reply = number_of(type, bits);
    } else {
      *result = bits;
    }
  }
};

/// An element's rank and position.
template <class Key>
struct ranked {
  Key rank;
  std::int64_t index;
};
template <class Key>
struct ranked_of {
  extreme_order<Key> order;
  __device__ ranked<Key> operator()(Key bits, std::int64_t index) const {
    return {order.rank_of(bits), index};
  }
};
/// The element of higher rank; of equal ones, the first.
struct higher_or_first {
  template <class Key>
  __device__ ranked<Key> operator()(const ranked<Key>& a, const ranked<Key>& b) const {
    if (a.rank != b.rank) return a.rank > b.rank ? a : b;
    return a.index < b.index ? a : b;
  }
};

template <class Key>
struct answer_index {
  std::int64_t* to;
  __device__ void operator()(const ranked<Key>& best) const { *to = best.index; }
};

}  // namespace

result<void> enqueue_extreme(const primitives::reduce& r, lane& where, scalar* reply) {
  return with_key(r.x.type(), [&]<class Key>(Key) {
    const extreme_order<Key> order(r.x.type(), r.op == primitives::combination::minimum);
    const answer_element<Key> answer{order, r.x.type(), reinterpret_cast<Key*>(r.result.address()),
                                     reply};
    return enqueue_reduction<Key>(r.x, Key{0}, rank_of<Key>{order}, higher_rank{}, where, answer);
  });
}

result<void> enqueue_search(const any_tensor& x, bool smallest, std::int64_t* to, lane& where) {
  return with_key(x.type(), [&]<class Key>(Key) {
    const extreme_order<Key> order(x.type(), smallest);
    const ranked<Key> behind_all{0, x.extent(0)};
    return enqueue_reduction<Key>(x, behind_all, ranked_of<Key>{order}, higher_or_first{}, where,
                                  answer_index<Key>{to});
  });
}

}  // namespace troupe::cuda
