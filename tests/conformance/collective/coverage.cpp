#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

std::vector<dtype> every_type() {
  std::vector<dtype> all;
  for (int t = 0; t < dtype_count; ++t)
    all.push_back(static_cast<dtype>(t));
  return all;
}

const must_cover collective("collective",
                            {
                                {"all_reduce reduce reduce_scatter", every_type()},
                                {"broadcast all_gather gather scatter", every_type()},
                                {"all_to_all all_to_allv exchange", every_type()},
                                {"barrier connect", {}},
                            },
                            "all_reduce reduce reduce_scatter broadcast all_gather gather scatter "
                            "all_to_all all_to_allv exchange barrier connect");

}  // namespace
}  // namespace troupe::conformance
