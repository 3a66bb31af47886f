// Requests of every type, valid and invalid, drawn from their descriptions, under faults: each is
// answered once, by success or by an error that is promised. CHAOS_SECONDS and CHAOS_SEED say for
// how long and from where.
#include "random_requests.hpp"
#include "request/built_in_requests.hpp"

#include <troupe/blas/level1_reductions.hpp>
#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/request/any_request.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing_requests::random_requests;
using clock = std::chrono::steady_clock;

constexpr std::size_t requests_in_a_round = 200;
// Each tensor that is drawn is cleared by a request of its own, and some types take many.
constexpr std::uint32_t mailbox_capacity = 8192;
constexpr auto timeout = 20s;  // longer than any recovery

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

any_tensor zeros(device& gpu, dtype type, const shape& extents, memory_space space) {
  return space == memory_space::host ? gpu.allocate_host(type, extents).value()
                                     : gpu.allocate(type, extents, initial::zero).value();
}
// Memory of the device for a view; without strides, packed.
any_tensor allocated(device& gpu, dtype type, const shape& extents,
                     std::span<const std::int64_t> strides, memory_space space) {
  if (strides.empty()) return zeros(gpu, type, extents, space);
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < strides.size(); ++d)
    elements += std::max<std::int64_t>(extents[static_cast<int>(d)] - 1, 0) * strides[d];
  return zeros(gpu, type, {elements}, space).as_strided(extents, strides).value();
}

bool is_promised(const error& e) {
  switch (e.code) {
    case errc::aborted:           // may have begun when its worker was lost
    case errc::tainted_buffer:    // would read the outputs of such a one
    case errc::poisonous:         // ran each time when a worker was lost
    case errc::device_fault:      // ran alone then
    case errc::unsupported:       // by this backend
    case errc::invalid_argument:  // because of its tensors' content, such as pivots
    case errc::foreign_buffer:    // spoiled: a view of foreign memory
    case errc::numerical:
    case errc::capacity_exceeded:  // as its data wants
    case errc::library_error:
      return true;
    default:
      return false;
  }
}

class RandomRequests : public testing::Test {
 protected:
  void send_random(random_requests& draw) {
    const std::span<const request_type* const> all = built_in_requests();
    const request_type& type = *all[draw.generator()() % all.size()];
    // Those of the worker itself: faults are drawn apart, a mapping waits for the program, and a
    // random digest is that of no definition.
    if (type.library() == "fault" || type.library() == "graph" || type.library() == "lane") return;
    any_request request(type);
    draw.fill(type, request.data());
    if (draw.generator()() % 4 == 0) draw.spoil(type, request.data());
    const bool valid = type.validate(request.data()).has_value();
    in_flight_.push_back({&type, valid, gpu_.ask(request)});
  }

  void disturb(random_requests& draw) {
    using fault::kind;
    constexpr kind kinds[] = {kind::segmentation_fault, kind::abort, kind::exit, kind::exception};
    const std::size_t what = draw.generator()() % 6;
    if (draw.generator()() % 3 == 0) (void)gpu_.renew();  // alone, or beside a fault
    if (what < std::size(kinds)) {
      (void)gpu_.tell(fault::inject{.what = kinds[what]});
    } else if (const auto pid = gpu_.worker_pid()) {
      ::kill(*pid, SIGKILL);
    }
  }

  void judge() {
    for (sent& one : in_flight_) {
      ASSERT_TRUE(one.answer.wait_for(timeout)) << one.type->name << " was never answered";
      const auto outcome = one.answer.get_result();
      ++ends_[outcome ? "success" : std::string(to_string(outcome.error().code))];
      if (outcome) ++successes_[one.type->name];
      if (!one.valid) {
        EXPECT_FALSE(outcome) << one.type->name << " is invalid";
      } else if (!outcome) {
        EXPECT_TRUE(is_promised(outcome.error())) << outcome.error().to_string();
      }
    }
    in_flight_.clear();
  }

  struct sent {
    const request_type* type;
    bool valid;
    future<any_reply> answer;
  };

  system system_;
  device gpu_ = system_.device(0, {.backend = backend_kind::cpu,
                                   .mailbox_capacity = mailbox_capacity,
                                   .restarts = {.restarts = 1'000'000},
                                   .backoff = {.initial = 1ms},
                                   .quarantine = 0s,
                                   .fault_injection = true});
  std::vector<sent> in_flight_;
  std::map<std::string, int> ends_;
  std::map<std::string_view, int> successes_;  ///< by type of request
};

TEST_F(RandomRequests, AreAllAnswered) {
  const std::uint64_t seed = setting("CHAOS_SEED", 1);
  const auto end = clock::now() + std::chrono::seconds(setting("CHAOS_SECONDS", 4));
  random_requests draw(
      seed, [this](dtype type, const shape& extents, std::span<const std::int64_t> strides,
                   memory_space space) { return allocated(gpu_, type, extents, strides, space); });
  while (clock::now() < end && !HasFailure()) {
    const std::size_t first = draw.generator()() % requests_in_a_round;
    for (std::size_t i = 0; i < requests_in_a_round; ++i) {
      if (i == first) disturb(draw);
      send_random(draw);
    }
    judge();
    const auto ones = gpu_.tensor<double>({16}).value();
    ASSERT_TRUE(gpu_.ask(memory::fill{.to = ones, .value = 1.0}).get_result());
    EXPECT_EQ(gpu_.ask(blas::dot{.x = ones, .y = ones}).get().as<double>(), 16.0);
  }
  for (const auto& [what, count] : ends_)
    RecordProperty(what, count);
  EXPECT_EQ(gpu_.statistics().buffers, 0U);
  EXPECT_GT(ends_["success"], 0);
  // These need a random program.
  for (const char* const name :
       {"elementwise.map", "elementwise.rows", "elementwise.reduce", "dnn.graph"})
    EXPECT_GT(successes_[name], 0) << name;
}

}  // namespace
}  // namespace troupe
