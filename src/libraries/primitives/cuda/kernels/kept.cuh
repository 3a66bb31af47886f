#pragma once

#include "libraries/primitives/cuda/kernels/choice.cuh"
#include "libraries/primitives/cuda/kernels/compaction.cuh"

namespace troupe::cuda {

template <class T>
result<std::int64_t*> enqueue_kept(const any_tensor& x, const any_tensor& y, const choice& chosen,
                                   const choice* others, lane& where) {
  using selection = compaction<element_source<T>, choice, T>;
  const selection first{element_source<T>(x), chosen, bounded_sink<T>::of(y), x.extent(0)};
  auto bytes = first.needed_bytes();
  if (!bytes) return std::move(bytes).error();
  workspace_parts parts;
  const auto numbers = parts.add<std::int64_t>(2);
  const auto temporary = parts.add<std::byte>(static_cast<std::int64_t>(*bytes));
  if (auto done = parts.take(where); !done) return std::move(done).error();
  auto* const number = parts.at<std::int64_t>(numbers);
  void* const memory = parts.at<void>(temporary);
  if (auto done = first.enqueue(memory, *bytes, number, where.stream()); !done) {
    return std::move(done).error();
  }
  if (others == nullptr) return number;
  selection rest = first;
  rest.flag = *others;
  rest.sink.base = number;
  if (auto done = rest.enqueue(memory, *bytes, number + 1, where.stream()); !done) {
    return std::move(done).error();
  }
  return number;
}

}  // namespace troupe::cuda
