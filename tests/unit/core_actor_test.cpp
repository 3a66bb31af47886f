#include <troupe/core/system.hpp>

#include <gtest/gtest.h>

namespace troupe {
namespace {

struct add {
  int n;
};
struct total {};

class counter : public actor {
 public:
  void handle(add m) { sum_ += m.n; }
  int handle(total) const { return sum_; }

 private:
  int sum_ = 0;
};

TEST(Actor, AnswersAnAskWithWhatItsHandlerReturns) {
  system s;
  auto c = s.spawn<counter>();
  EXPECT_TRUE(c.tell(add{2}));
  EXPECT_TRUE(c.tell(add{3}));
  EXPECT_EQ(c.ask(total{}).get(), 5);
}

}  // namespace
}  // namespace troupe
