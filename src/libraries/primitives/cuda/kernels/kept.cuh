#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "libraries/primitives/cuda/kernels/choice.cuh"
#include "libraries/primitives/cuda/kernels/compaction.cuh"

namespace troupe::cuda {

template <class T>
result<std::int64_t*> enqueue_kept(const any_tensor& x, const any_tensor& y, const choice& chosen,
                                   const choice* others, lane& where) {
  using selection = compaction<element_source<T>, choice, T>;
  const selection first{element_source<T>(x), chosen, bounded_sink<T>::of(y), x.extent(0)};
  const auto bytes = TRY(first.needed_bytes());
  call_frame c(where);
  const auto numbers = c.array<std::int64_t>(2);
  c.share(bytes);
  TRY(c.begin());
  TRY(first.enqueue(c.shared(), bytes, numbers, where.stream()));
  if (others == nullptr) return numbers.get();
  selection rest = first;
  rest.flag = *others;
  rest.sink.base = numbers;
  TRY(rest.enqueue(c.shared(), bytes, numbers + 1, where.stream()));
  return numbers.get();
}

}  // namespace troupe::cuda
