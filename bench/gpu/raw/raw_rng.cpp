#include "raw_rng.hpp"

#include "raw_check.hpp"

#include <curand.h>

namespace troupe::bench::raw {
namespace {

void check(curandStatus_t status, const char* call) {
  if (status == CURAND_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": status " + std::to_string(status));
}

curandGenerator_t generator_of(void* held) noexcept { return static_cast<curandGenerator_t>(held); }

}  // namespace

generator::generator(stream& on) {
  curandGenerator_t made = nullptr;
  check(curandCreateGenerator(&made, CURAND_RNG_PSEUDO_PHILOX4_32_10), "curandCreateGenerator");
  generator_ = made;
  check(curandSetStream(made, of(on.native())), "curandSetStream");
}
generator::~generator() { (void)curandDestroyGenerator(generator_of(generator_)); }

void generator::uniform(float* to, std::size_t count) {
  check(curandGenerateUniform(generator_of(generator_), to, count), "curandGenerateUniform");
}
void generator::normal(float* to, std::size_t count) {
  check(curandGenerateNormal(generator_of(generator_), to, count, 0, 1), "curandGenerateNormal");
}

}  // namespace troupe::bench::raw
