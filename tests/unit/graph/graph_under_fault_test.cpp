// A graph survives its workers, and names the request that ended one.
#include "graph_fixture.hpp"

#include <atomic>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

class GraphUnderFault : public graph_fixture {
 protected:
  [[nodiscard]] request_graph with(const fault::inject& what) {
    return recorded([&](graph_recorder& rec) {
             rec.add(scale{.x = x_, .y = y_, .factor = 2});
             rec.add(what);
             rec.add(scale{.x = x_, .y = y_, .factor = 3});
           })
        .value();
  }

  const any_tensor x_ = make({1, 2});
  const any_tensor y_ = make({0, 0});
};

TEST_F(GraphUnderFault, NamesTheRequestThatEndedTheWorker) {
  for (const fault::kind what : {fault::kind::segmentation_fault, fault::kind::abort,
                                 fault::kind::exit, fault::kind::trap}) {
    const request_graph g = with({.what = what});
    auto outcome = run(g);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::device_fault) << outcome.error().to_string();
    EXPECT_TRUE(has(outcome.error().request, "graph.run step (3 requests)"));
    if (on_queues()) outcome = run(g);  // one request at a time
    EXPECT_EQ(outcome.error().code, errc::device_fault) << outcome.error().to_string();
    EXPECT_TRUE(
        has(outcome.error().request, "graph.run step (3 requests), request 1: fault.inject"))
        << outcome.error().request;
    EXPECT_TRUE(has(gpu_.tainted_by(y_), "graph.run")) << gpu_.tainted_by(y_);
    set(y_, {0, 0});
  }
}

TEST_F(GraphUnderFault, NamesTheRequestThatHangs) {
  const request_graph g = with({.what = fault::kind::hang});
  auto outcome = gpu_.run(g, {.run_limit = 50ms}).get_result();
  ASSERT_FALSE(outcome);
  if (on_queues()) outcome = gpu_.run(g, {.run_limit = 50ms}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::device_fault);
  EXPECT_TRUE(has(outcome.error().request, "request 1: fault.inject")) << outcome.error().request;
}

TEST_F(GraphUnderFault, IsInQuarantineOnceItHasEndedTwoWorkers) {
  const request_graph g = with({.what = fault::kind::segmentation_fault});
  // The stepped run, which names the request, is another request.
  if (on_queues()) {
    EXPECT_EQ(run(g).error().code, errc::device_fault);
  }
  for (const errc expected : {errc::device_fault, errc::device_fault, errc::poisonous}) {
    auto outcome = run(g);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, expected) << outcome.error().to_string();
    set(y_, {0, 0});
  }
  ASSERT_EQ(gpu_.quarantine().size(), 1U);
  EXPECT_TRUE(has(gpu_.quarantine()[0].request, "request 1: fault.inject"));
}

TEST_F(GraphUnderFault, NamesTheRequestThatFailsAndGoesOnServing) {
  auto outcome = run(with({.what = fault::kind::exception}));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::handler_failed);
  EXPECT_TRUE(has(outcome.error().message, "request 1, fault.inject")) << outcome.error().message;
  EXPECT_EQ(gpu_.generation(), 1U);
}

// Its worker is killed between two of its requests. All that it reads it has written, or leaves
// alone, so the next worker runs it again.
TEST_F(GraphUnderFault, RunsAgainWhenItsWorkerIsKilled) {
  auto flag = gpu_.host_tensor<std::uint32_t>({1}).value();
  auto z = gpu_.host_tensor<std::int64_t>({2}).value();
  const request_graph g = recorded([&](graph_recorder& rec) {
                            rec.add(scale{.x = x_, .y = y_, .factor = 5});
                            rec.add(add{.x = y_, .value = 1});  // scratch: it has been written
                            rec.add(scale{.x = y_, .y = z, .factor = 1});
                            rec.add(fault::spin_until{.flag = flag});
                            rec.add(scale{.x = y_, .y = z, .factor = 2});
                          }).value();
  for (int kills = 0; kills < 5; ++kills) {
    flag[0] = 0;
    z[0] = 0;
    auto done = gpu_.run(g);
    while (std::atomic_ref(z[0]).load() == 0)
      std::this_thread::yield();
    ASSERT_EQ(::kill(gpu_.worker_pid().value(), SIGKILL), 0);
    std::atomic_ref(flag[0]).store(1);
    ASSERT_EQ(text(done.get_result()), "done");
    EXPECT_EQ(z[0], 12);
    EXPECT_EQ(z[1], 22);
  }
  EXPECT_EQ(gpu_.statistics().replayed, 5U);
}

// Killed at any moment, with runs in flight: each is answered once, and right.
TEST_F(GraphUnderFault, AnswersEveryRunWhileItsWorkersAreKilled) {
  auto z = gpu_.host_tensor<std::int64_t>({2}).value();
  const request_graph g = recorded([&](graph_recorder& rec) {
                            rec.add(scale{.x = x_, .y = y_, .factor = 5});
                            for (int i = 0; i < 50; ++i)
                              rec.add(add{.x = y_, .value = 1});
                            rec.add(scale{.x = y_, .y = z, .factor = 2});
                          }).value();
  std::atomic<bool> over{false};
  std::thread killer([&] {
    for (int kills = 0; kills < 10; ++kills) {
      std::this_thread::sleep_for(3ms + kills * 100us);
      if (const auto worker = gpu_.worker_pid()) ::kill(*worker, SIGKILL);
    }
    over = true;
  });
  int answered = 0;
  for (int i = 0; !over || i < 100; ++i) {
    std::vector<future<graph_replies>> runs;
    runs.reserve(8);
    for (int n = 0; n < 8; ++n)
      runs.push_back(gpu_.run(g));
    for (auto& one : runs) {
      auto outcome = one.get_result();
      ++answered;
      // Aborted is one that was running at four kills.
      EXPECT_TRUE(outcome || outcome.error().code == errc::aborted) << text(outcome);
    }
  }
  killer.join();
  ASSERT_EQ(text(run(g)), "done");
  EXPECT_EQ(z[0], 110);
  EXPECT_EQ(z[1], 120);
  EXPECT_EQ(gpu_.statistics().in_flight, 0U);
  EXPECT_GT(answered, 100);
}

TEST_F(GraphUnderFault, IsNotRunAgainIfItUpdatesWhatWasThereBefore) {
  auto flag = gpu_.host_tensor<std::uint32_t>({1}).value();
  auto z = gpu_.host_tensor<std::int64_t>({2}).value();
  z[0] = 1;
  const request_graph g = recorded([&](graph_recorder& rec) {
                            rec.add(add{.x = z, .value = 1});
                            rec.add(fault::spin_until{.flag = flag});
                          }).value();
  auto done = gpu_.run(g);
  while (std::atomic_ref(z[0]).load() == 1)
    std::this_thread::yield();
  ASSERT_EQ(::kill(gpu_.worker_pid().value(), SIGKILL), 0);
  auto outcome = done.get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::aborted);
  EXPECT_TRUE(on_queues() || has(outcome.error().request, "request 1: fault.spin_until"))
      << outcome.error().request;
}

TEST_F(GraphUnderFault, OutlivesItsHandlesAndARestartOfTheDevice) {
  auto z = gpu_.host_tensor<std::int64_t>({2}).value();
  std::optional<request_graph> g = recorded([&](graph_recorder& rec) {
                                     const any_tensor scratch = make({0, 0});
                                     rec.add(scale{.x = x_, .y = scratch, .factor = 2});
                                     rec.add(scale{.x = scratch, .y = z, .factor = 2});
                                   }).value();
  EXPECT_EQ(text(run(*g)), "done");
  gpu_.stop();
  EXPECT_EQ(run(*g).error().code, errc::device_stopped);
  ASSERT_TRUE(gpu_.restart());
  set(x_, {3, 4});
  auto done = gpu_.run(*g);
  g.reset();
  EXPECT_EQ(text(done.get_result()), "done");
  EXPECT_EQ(z[1], 16);
}

// A conflicting request of another lane is before or after the whole graph.
TEST_F(GraphUnderFault, IsOrderedByAllThatItsRequestsUse) {
  auto flag = gpu_.host_tensor<std::uint32_t>({1}).value();
  auto t = gpu_.tensor<float>({2}).value();
  flag[0] = 0;
  const request_graph g = recorded([&](graph_recorder& rec) {
                            rec.add(fault::spin_until{.flag = flag, .output = t});
                            rec.add(scale{.x = x_, .y = y_, .factor = 10});
                          }).value();
  auto first = gpu_.run(g);
  auto second = gpu_.ask(add{.x = y_, .value = 1});
  EXPECT_FALSE(second.wait_for(20ms));
  std::atomic_ref(flag[0]).store(1);
  EXPECT_EQ(second.get(), 11);
  EXPECT_EQ(text(first.get_result()), "done");
}

TEST_F(GraphUnderFault, IsWrittenAnewIfItsBytesWereOverwritten) {
  const auto before = gpu_.host_tensor<std::uint8_t>({1}).value();
  const request_graph g = with({.what = fault::kind::spin});
  const auto after = gpu_.host_tensor<std::uint8_t>({1}).value();
  constexpr std::string_view magic = "TGRAPH01";
  std::byte* found = nullptr;
  for (std::byte* at = before.address(); at < after.address() && found == nullptr; at += 8) {
    if (std::memcmp(at, magic.data(), magic.size()) == 0) found = at;
  }
  ASSERT_NE(found, nullptr);
  found[9] ^= std::byte{1};
  EXPECT_EQ(text(run(g)), "done");
  EXPECT_EQ(content(y_), (numbers{3, 6}));
}

}  // namespace
}  // namespace troupe::test
