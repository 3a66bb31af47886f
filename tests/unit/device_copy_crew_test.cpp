#include "device/copy_crew.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <set>
#include <thread>

namespace troupe {
namespace {

TEST(CopyCrew, WithoutThreadsLetsWhoeverHasWorkDoIt) {
  copy_crew crew(0);
  std::thread::id by;
  crew.post([&] { by = std::this_thread::get_id(); });
  EXPECT_EQ(by, std::this_thread::get_id());
}

TEST(CopyCrew, WorksInAsManyThreadsAsThereIsWorkForAndNoMore) {
  copy_crew crew(3);
  std::promise<void> go;
  std::shared_future<void> may_go = go.get_future().share();
  std::atomic<int> at_work{0};
  std::atomic<int> done{0};
  for (int i = 0; i < 10; ++i) {
    crew.post([&, may_go] {
      at_work.fetch_add(1);
      may_go.wait();
      done.fetch_add(1);
    });
  }
  while (at_work < 3)
    std::this_thread::yield();
  EXPECT_EQ(at_work, 3);
  go.set_value();
  while (done < 10)
    std::this_thread::yield();
}

TEST(CopyCrew, IsUsedAgainBeforeItGrows) {
  copy_crew crew(4);
  std::mutex mutex;
  std::set<std::thread::id> by;
  for (int i = 0; i < 20; ++i) {
    std::promise<void> done;
    crew.post([&] {
      const std::lock_guard lock(mutex);
      by.insert(std::this_thread::get_id());
      done.set_value();
    });
    done.get_future().wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LT(by.size(), 4u) << "one was idle nearly always";
}

TEST(CopyCrew, MayBeEndedByItsOwnLastWork) {
  auto crew = std::make_shared<copy_crew>(2);
  std::promise<void> posted;
  std::promise<void> done;
  copy_crew& named = *crew;
  named.post([crew = std::move(crew), &done, may_end = posted.get_future().share()]() mutable {
    may_end.wait();
    crew.reset();
    done.set_value();
  });
  posted.set_value();
  done.get_future().wait();
}

}  // namespace
}  // namespace troupe
