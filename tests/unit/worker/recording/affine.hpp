#pragma once

#include "unit/worker/fake_accelerator.hpp"

#include <troupe/memory/copy.hpp>
#include <troupe/plugin/executor.hpp>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

/// Requests on single numbers, which fake lanes call, record and launch.
namespace troupe::testing_worker {

/// x = x · factor + value, and y too if it is given. Answers x.
struct affine {
  static constexpr std::string_view name = "recordings.affine";
  using reply = std::int64_t;

  any_tensor x{};
  any_tensor y{};
  std::int64_t factor = 1;
  std::int64_t value = 0;
  std::int64_t workspace = 0;  ///< bytes: x goes through them

  static void describe(description<affine>& d) {
    d.about("Multiplies and adds.");
    d.updates("x", &affine::x, {}, "number");
    d.updates("y", &affine::y, {}, "number").optional();
    d.value("factor", &affine::factor, "factor");
    d.value("value", &affine::value, "what is added");
    d.value("workspace", &affine::workspace, "bytes");
  }
};

/// The same executor under another name, which is on no list.
struct unlisted : affine {
  static constexpr std::string_view name = "recordings.unlisted";
  using reply = std::int64_t;
  static void describe(description<unlisted>& d) {
    d.about("Multiplies and adds.");
    d.updates("x", &unlisted::x, {}, "number");
    d.value("factor", static_cast<std::int64_t unlisted::*>(&affine::factor), "factor");
    d.value("value", static_cast<std::int64_t unlisted::*>(&affine::value), "what is added");
  }
};

struct told_reply {
  std::int64_t number = 0;
  std::string by{};

  static void describe(description<told_reply>& d) {
    d.value("number", &told_reply::number, "number");
    d.value("by", &told_reply::by, "name");
  }
};

/// x = x + 1. Its call answers a described reply.
struct told {
  static constexpr std::string_view name = "recordings.told";
  using reply = told_reply;

  any_tensor x{};
  any_tensor y{};

  static void describe(description<told>& d) {
    d.about("Adds one.");
    d.updates("x", &told::x, {}, "number");
    d.updates("y", &told::y, {}, "number").optional();
  }
};

// Special values of `affine::value`.
inline constexpr std::int64_t spoils = 1'000'001;   // enqueues what cannot be recorded
inline constexpr std::int64_t refuses = 1'000'002;  // fails while it is recorded
inline constexpr std::int64_t settles =
    1'000'003;  // is called in another way from the third call on
inline constexpr std::int64_t stands = 1'000'004;  // waits for `go_on`

inline constexpr std::int64_t refuses_once = 1'000'005;  // fails the first time it is recorded

inline int calls = 0;
inline bool refused = false;
inline std::atomic<bool> go_on{true};
inline std::shared_ptr<int> cached;

template <class R>
result<void> run_affine(void*, const void* request, lane_context& where, std::byte* reply) {
  const auto& r = *static_cast<const R*>(request);
  auto& lane = static_cast<fake_lane&>(where);
  ++calls;
  where.retain(cached);
  if (r.value == settles && calls < 3) where.note_provisional();
  const bool refuses_now = r.value == refuses || (r.value == refuses_once && !refused);
  if (refuses_now && lane.is_recording()) {
    refused = true;
    return error{.code = errc::library_error, .message = "not while it records"};
  }
  const auto room = lane.workspace(static_cast<std::size_t>(r.workspace)).value();
  std::memset(reply, 0x11, sizeof(std::int64_t));  // as an executor prepares a reply
  auto* const to = reinterpret_cast<std::int64_t*>(reply);
  const auto work = [=, x = r.x.template data<std::int64_t>(),
                     y = r.y.null() ? nullptr : r.y.template data<std::int64_t>(),
                     factor = r.factor, value = r.value] {
    while (value == stands && !go_on.load())
      std::this_thread::yield();
    std::int64_t sum = *x * factor + value;
    if (room.size() >= sizeof(sum)) {
      std::memcpy(room.data(), &sum, sizeof(sum));
      std::memcpy(&sum, room.data(), sizeof(sum));
    }
    *x = sum;
    if (y != nullptr) *y = *y * factor + value;
    *to = sum;
  };
  if (r.value == spoils) {
    lane.enqueue_eagerly(work);
  } else {
    lane.enqueue(work);
  }
  return {};
}

inline result<void> run_told(void*, const void* request, lane_context& where, std::byte* reply) {
  ++calls;
  static_cast<fake_lane&>(where).enqueue(
      [x = static_cast<const told*>(request)->x.template data<std::int64_t>()] { *x += 1; });
  *reinterpret_cast<told_reply*>(reply) = {.number = 7, .by = "told"};
  return {};
}

/// A copy of one number, such as the worker makes to look at a condition.
inline result<void> copy_number(void*, const void* request, lane_context& where, std::byte*) {
  const auto& r = *static_cast<const memory::copy*>(request);
  static_cast<fake_lane&>(where).enqueue([from = r.from.address(), to = r.to.address()] {
    std::memcpy(to, from, sizeof(std::int64_t));
  });
  return {};
}

inline bool without_factor_7(const void* request) {
  return static_cast<const affine*>(request)->factor != 7;
}

}  // namespace troupe::testing_worker
