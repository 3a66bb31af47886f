#include <troupe/request/world_part.hpp>

namespace troupe {

void world_part::describe(description<world_part>& d) {
  d.value("rank", &world_part::rank, "this device's").at_least(0);
  // All parts write them; the protocol orders that, so for hazards and recovery they are only read.
  d.reads("words", &world_part::words, {}, "words of each rank");
  d.reads("page", &world_part::page, {}, "words of the world").optional().in_host_memory();
  d.value("connection", &world_part::connection, "of NCCL; 0: none").at_least(0);
  d.value("through_host", &world_part::through_host, "ranks cannot read each other's memory");
}

}  // namespace troupe
