#include "libraries/primitives/cuda/kernels/kept.cuh"

namespace troupe::cuda {

template result<std::int64_t*> enqueue_kept<std::uint8_t>(const any_tensor&, const any_tensor&,
                                                          const choice&, const choice*, lane&);
template result<std::int64_t*> enqueue_kept<std::uint16_t>(const any_tensor&, const any_tensor&,
                                                           const choice&, const choice*, lane&);
template result<std::int64_t*> enqueue_kept<std::uint32_t>(const any_tensor&, const any_tensor&,
                                                           const choice&, const choice*, lane&);

}  // namespace troupe::cuda
