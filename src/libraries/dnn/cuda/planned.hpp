#pragma once

#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/dnn/cuda/plan/plan_service.hpp"

#include <memory>

namespace troupe::cuda {

/// Adds the executor of a request that needs a plan. The request waits until its plan is decided,
/// while other lanes go on. `Case` is constructed from a request. It has `write` (what selects the
/// plan), `empty` (true if there is nothing to do) and `graphs`.
template <class Case, request R>
void add_planned(operation_table& table, result<void> (*enqueue)(const R&, lane&)) {
  table.insert({.type = &request_type_of<R>(),
                .run =
                    [](void* held, const void* r, lane_context& where, std::byte*) {
                      const auto function =
                          reinterpret_cast<result<void> (*)(const R&, lane&)>(held);
                      return function(*static_cast<const R*>(r), static_cast<lane&>(where));
                    },
                .executor = reinterpret_cast<void*>(enqueue),
                .prepared =
                    [](const void* r, const std::shared_ptr<kept_blobs>& blobs) noexcept {
                      // The executor reports any error.
                      try {
                        const Case what(*static_cast<const R*>(r));
                        if (what.empty()) return true;
                        auto service = plan_service::of_current_context();
                        if (!service) return true;
                        thread_local plan_words key;
                        what.write(key);
                        return (*service)->prepare(key, blobs, [&] { return what.graphs(); });
                      } catch (...) {
                        return true;
                      }
                    }});
}

/// The plan of a case. \errors the reason why there is none
template <class Case>
[[nodiscard]] result<std::shared_ptr<compiled_plan>> plan_of(const Case& what, lane& where) {
  auto service = TRY(plan_service::of_current_context());
  thread_local plan_words key;
  what.write(key);
  auto plan = TRY(service->find(key, where.blobs(), [&] { return what.graphs(); }));
  where.retain(plan);
  return plan;
}

}  // namespace troupe::cuda
