#include "base/try.hpp"

#include <troupe/base/error.hpp>
#include <troupe/base/result.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace troupe {
namespace {

TEST(Error, WritesVendorCallThenRequestThenDeviceInThatOrder) {
  const error e{.code = errc::unsupported,
                .message = "n must be a multiple of 16 for fp8",
                .request = "blas.gemm<e4m3> m=1024 n=1000 k=512",
                .library = "cublas",
                .call = "cublasGemmEx",
                .code_name = "CUBLAS_STATUS_NOT_SUPPORTED",
                .vendor_code = 15,
                .device = 0,
                .generation = 3};
  EXPECT_EQ(e.to_string(),
            "cublas cublasGemmEx: CUBLAS_STATUS_NOT_SUPPORTED (15), unsupported\n"
            "  blas.gemm<e4m3> m=1024 n=1000 k=512: n must be a multiple of 16 for fp8\n"
            "  device 0, generation 3");
}

TEST(Error, WritesItsCausesAfterItself) {
  const auto first = std::make_shared<const error>(
      error{.code = errc::handler_failed, .message = "spilled the tea"});
  const auto second = std::make_shared<const error>(error{
      .code = errc::device_fault, .request = "blas.gemm<f32> m=1", .device = 1, .cause = first});
  EXPECT_EQ(error({.code = errc::actor_stopped, .message = "gone", .cause = second}).to_string(),
            "actor_stopped\n  gone\n"
            "caused by device_fault\n  blas.gemm<f32> m=1\n  device 1, generation 0\n"
            "caused by handler_failed\n  spilled the tea");
}

TEST(Error, NamesErrnoOfAFailedSystemCall) {
  const error e = system_failure("open", ENOENT, "/nowhere");
  EXPECT_EQ(e.code, errc::system_error);
  EXPECT_EQ(e.code_name, "ENOENT");
  EXPECT_EQ(e.vendor_code, ENOENT);
}

TEST(Result, ThrowsItsErrorAtTheEdgeOnly) {
  result<int> bad = error{.code = errc::timed_out, .message = "after 5 ms"};
  ASSERT_FALSE(bad);
  try {
    (void)std::move(bad).value();
    FAIL() << "value() of a failed result returned";
  } catch (const failure& f) {
    EXPECT_EQ(f.code(), errc::timed_out);
    EXPECT_STREQ(f.what(), "timed_out\n  after 5 ms");
  }
}

result<void> accept(int n) {
  if (n >= 0) return {};
  return error{.code = errc::invalid_argument, .message = std::to_string(n)};
}

/// Something that must be destroyed whichever way a function ends.
result<std::shared_ptr<int>> share(const std::shared_ptr<int>& what, int n) {
  if (auto accepted = accept(n); !accepted) return std::move(accepted).error();
  return what;
}

long both(const std::shared_ptr<int>& a, const std::shared_ptr<int>& b) {
  return a.use_count() + b.use_count();
}

result<long> try_in_all_places(const std::shared_ptr<int>& what, int first, int second) {
  TRY(accept(first));
  const std::shared_ptr<int> mine = TRY(share(what, first));
  return both(std::shared_ptr<int>(what), TRY(share(mine, second)));
}

TEST(Try, GivesTheValueOrReturnsTheErrorAndDestroysWhatWasMadeBefore) {
  const auto what = std::make_shared<int>(0);
  EXPECT_TRUE(try_in_all_places(what, 1, 1));
  EXPECT_EQ(what.use_count(), 1);
  EXPECT_EQ(try_in_all_places(what, -1, 1).error().message, "-1");
  EXPECT_EQ(what.use_count(), 1);
  EXPECT_EQ(try_in_all_places(what, 1, -2).error().message, "-2");
  EXPECT_EQ(what.use_count(), 1);
}

}  // namespace
}  // namespace troupe
