// A library that uses Troupe is unloaded. This program does not use it otherwise.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <thread>

namespace {

TEST(Unloading, OfALibraryLeavesTroupeToItsThreads) {
  void* const user = ::dlopen(TROUPE_USER, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(user, nullptr) << ::dlerror();
  auto* const use = reinterpret_cast<bool (*)()>(::dlsym(user, "use_troupe"));
  ASSERT_NE(use, nullptr);
  // In another thread: a thread's own data of a library (`thread_local`) keeps that loaded.
  bool used = false;
  std::thread([&] { used = use(); }).join();
  EXPECT_TRUE(used);
  ASSERT_EQ(::dlclose(user), 0);
  // The thread of the timers lives as long as the process.
  EXPECT_NE(::dlopen(TROUPE_LIBRARY, RTLD_NOW | RTLD_NOLOAD), nullptr)
      << "the code of a running thread is gone";
}

}  // namespace
