#pragma once

#include <troupe/testing/test_kit.hpp>

#include <memory>
#include <utility>

/// An actor that counts, with a handler of each kind, for the tests of actors.
namespace troupe::counting {

struct add {
  int n;
};
struct total {};
struct parcel {
  std::unique_ptr<int> content;
};
struct divide {
  int by;
};
struct delayed {
  future<int> source;
};

class counter : public actor {
 public:
  explicit counter(int start = 0) : sum_(start) {}
  void handle(add m) { sum_ += m.n; }
  int handle(total) const { return sum_; }
  std::unique_ptr<int> handle(parcel p) { return std::move(p.content); }
  result<int> handle(divide d) {
    if (d.by == 0) return error{.code = errc::invalid_argument, .message = "by zero"};
    return sum_ / d.by;
  }
  future<int> handle(delayed d) { return std::move(d.source); }

 private:
  int sum_;
};

}  // namespace troupe::counting
