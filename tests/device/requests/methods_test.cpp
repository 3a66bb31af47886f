// How libraries compute, as each device says.

#include "device/fixtures/either_isolation.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

class Methods : public either_isolation {
 protected:
  void SetUp() override {
    if (on_gpu()) GTEST_SKIP() << "lanes of the stand-in for a GPU have none, and a GPU is one";
    if (std::getenv("TROUPE_DNN") != nullptr) GTEST_SKIP() << "the environment overrides a device";
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, Methods,
                         ::testing::Values(isolation::process, isolation::thread),
                         process_or_thread);

TEST_P(Methods, AreThoseOfTheDevice) {
  device_config c = config();
  c.methods = {.dnn = dnn_method::loops,
               .tensors = tensors_method::cutensor,
               .elementwise = elementwise_method::callbacks};
  device other = system_.device(1, c);
  EXPECT_EQ(gpu_.ask(say_methods{}).get(), 0);
  EXPECT_EQ(other.ask(say_methods{}).get(), 123);
}

TEST(MethodsOfAWorker, AreThoseOfItsEnvironment) {
  if (on_gpu()) GTEST_SKIP() << "as above";
  device_config c = permissive();
  c.methods.tensors = tensors_method::cutensor;
  c.methods.elementwise = elementwise_method::compiled;
  c.worker_environment = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{
      "TROUPE_DNN=loops", "TROUPE_TENSORS=products", "TROUPE_ELEMENTWISE=no such method"});
  troupe::system system;
  EXPECT_EQ(system.device(0, c).ask(say_methods{}).get(), 112);
}

}  // namespace
}  // namespace troupe::test
