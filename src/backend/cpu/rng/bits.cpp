#include "backend/cpu/backend.hpp"
#include "backend/cpu/rng/draw.hpp"
#include "backend/random/bits_samplers.hpp"

namespace troupe::cpu {

void add_rng_bits(operation_table& table) {
  table.add<rng::bits>(draw_request<rng::bits>, effort::by_size);
}

}  // namespace troupe::cpu
