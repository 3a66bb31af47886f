#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cuda {

/// Adds the executor of a request whose failure may show only when the enqueued work sees its data.
template <request R>
  requires std::is_void_v<reply_of<R>>
void add(operation_table& table, result<void> (*enqueue)(const R&, lane&, late_failure),
         effort how_long = effort::unknown) {
  table.insert({.type = &request_type_of<R>(),
                .run =
                    [](void* held, const void* r, lane_context& where, std::byte* reply) {
                      const auto function =
                          reinterpret_cast<result<void> (*)(const R&, lane&, late_failure)>(held);
                      return function(*static_cast<const R*>(r), static_cast<lane&>(where),
                                      late_failure(reply));
                    },
                .executor = reinterpret_cast<void*>(enqueue),
                .effort = how_long,
                .fails_late = true});
}

/// The same for a request with a reply. A kernel that writes the failure writes no reply. A
/// described reply is in no slot: the failure would be written over a value that does not exist
/// yet.
template <request R>
  requires(!std::is_void_v<reply_of<R>> && !detail::described<reply_of<R>>)
void add(operation_table& table,
         result<void> (*enqueue)(const R&, lane&, reply_of<R>*, late_failure),
         effort how_long = effort::unknown) {
  table.insert(
      {.type = &request_type_of<R>(),
       .run =
           [](void* held, const void* r, lane_context& where, std::byte* reply) {
             const auto function =
                 reinterpret_cast<result<void> (*)(const R&, lane&, reply_of<R>*, late_failure)>(
                     held);
             return function(*static_cast<const R*>(r), static_cast<lane&>(where),
                             reinterpret_cast<reply_of<R>*>(reply), late_failure(reply));
           },
       .executor = reinterpret_cast<void*>(enqueue),
       .effort = how_long,
       .fails_late = true});
}

}  // namespace troupe::cuda
