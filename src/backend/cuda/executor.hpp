#pragma once

#include "backend/cuda/lane.hpp"
#include "backend/cuda/late_failure.hpp"

#include <troupe/worker/plugin.hpp>

namespace troupe::cuda {

/// Adds an executor that enqueues the work of `R`. One whose request has a reply gets the address
/// to write it to: shared host memory, reachable for the device at the same address, aligned to 32
/// bytes. What the queue (or the executor itself) has written there before the request's mark is
/// the reply.
template <request R>
  requires std::is_void_v<reply_of<R>>
void add(operation_table& table, result<void> (*enqueue)(const R&, lane&)) {
  table.insert({.type = &request_type_of<R>(),
                .run =
                    [](void* held, const void* r, lane_context& where, std::byte*) {
                      const auto function =
                          reinterpret_cast<result<void> (*)(const R&, lane&)>(held);
                      return function(*static_cast<const R*>(r), static_cast<lane&>(where));
                    },
                .executor = reinterpret_cast<void*>(enqueue)});
}
/// The same for a request that may turn out to fail only when what was enqueued sees its data.
template <request R>
  requires std::is_void_v<reply_of<R>>
void add(operation_table& table, result<void> (*enqueue)(const R&, lane&, late_failure)) {
  table.insert({.type = &request_type_of<R>(),
                .run =
                    [](void* held, const void* r, lane_context& where, std::byte* reply) {
                      const auto function =
                          reinterpret_cast<result<void> (*)(const R&, lane&, late_failure)>(held);
                      return function(*static_cast<const R*>(r), static_cast<lane&>(where),
                                      late_failure(reply));
                    },
                .executor = reinterpret_cast<void*>(enqueue),
                .fails_late = true});
}
template <request R>
  requires(!std::is_void_v<reply_of<R>>)
void add(operation_table& table, result<void> (*enqueue)(const R&, lane&, reply_of<R>*)) {
  table.insert({.type = &request_type_of<R>(),
                .run =
                    [](void* held, const void* r, lane_context& where, std::byte* reply) {
                      const auto function =
                          reinterpret_cast<result<void> (*)(const R&, lane&, reply_of<R>*)>(held);
                      return function(*static_cast<const R*>(r), static_cast<lane&>(where),
                                      reinterpret_cast<reply_of<R>*>(reply));
                    },
                .executor = reinterpret_cast<void*>(enqueue)});
}

}  // namespace troupe::cuda
