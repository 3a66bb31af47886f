#include <troupe/plugin/static_registration.hpp>
#include <troupe/primitives/histograms.hpp>
#include <troupe/primitives/reductions.hpp>
#include <troupe/primitives/scans.hpp>
#include <troupe/primitives/selection.hpp>
#include <troupe/primitives/sorting.hpp>

namespace troupe::cuda {
namespace {

// CUB's algorithms, none of which waits: sorts are radix sorts.
const plugin_recordings recordings([](recordable_operations& can) {
  using namespace primitives;
  can.be<primitives::reduce, argmin, argmax, segmented_reduce, scan>();
  can.be<primitives::select, partition, primitives::unique, run_length>();
  can.be<primitives::sort, sort_pairs, segmented_sort, top_k, histogram_even, histogram_range>();
});

}  // namespace
}  // namespace troupe::cuda
