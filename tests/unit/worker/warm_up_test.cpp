#include "stage.hpp"
#include "worker/process/worker_runtime.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace troupe {
namespace {

using namespace testing_worker;

/// A worker on the backend of warm_backend.cpp.
class WorkerWarmUp : public testing::Test {
 protected:
  result<std::unique_ptr<worker::worker_runtime>> start() {
    auto backend = worker::engine::bring_up({.plugin = WARM_BACKEND, .in_process = false});
    if (!backend) return std::move(backend).error();
    return worker::worker_runtime::start(
        {.mailbox = stage_.requests->shared(),
         .mailbox_bytes = stage_.requests->total_bytes(),
         .segment_bytes = wire::worker_segment_bytes(stage_.requests->capacity()),
         .bells = &stage_.requests->bells(1),
         .segment = stage_.segment,
         .worker = 1,
         .in_process = false},
        *std::move(backend));
  }
  static int times_warm() {
    void* plugin = ::dlopen(WARM_BACKEND, RTLD_NOW | RTLD_NOLOAD);
    return plugin == nullptr ? 0 : *static_cast<int*>(::dlsym(plugin, "troupe_backend_times_warm"));
  }

  stage stage_;
};

TEST_F(WorkerWarmUp, RunsBeforeTheWorkerIsReadyWithoutAnAcceleratorToo) {
  const int before = times_warm();
  auto made = start();
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(times_warm(), before + 1);
}

TEST_F(WorkerWarmUp, ThatFailsIsAWorkerThatCannotStart) {
  ::setenv("TROUPE_TEST_COLD", "1", 1);
  auto made = start();
  ::unsetenv("TROUPE_TEST_COLD");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "cold");
}

}  // namespace
}  // namespace troupe
